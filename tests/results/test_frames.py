"""Frames come in and go out in the caller's library, whatever their groups are called."""

import numpy as np
import pandas as pd
import pyarrow as pa

import fairpot
from fairpot import FairPOT
from rows_cases import draw


def test_frames_come_back_in_the_callers_library():
    score, y, sex = draw(100)
    narrow = pa.array(score.astype(np.float32))
    back = FairPOT(0.5).fit(score, y, sensitive_features=sex).transform(narrow, sensitive_features=sex)
    assert type(back) is pa.DoubleArray


def test_groups_of_pd_cut_can_be_saved(tmp_path):
    score, y, _ = draw(300)
    band = pd.cut(np.random.default_rng(1).integers(1, 90, 300), [0, 25, 90])
    fp = FairPOT(0.5).fit(score, y, sensitive_features=band)
    fp.save(tmp_path / "map.json")
    again = fairpot.load(tmp_path / "map.json").transform(score, sensitive_features=band)
    np.testing.assert_array_equal(again, fp.transform(score, sensitive_features=band))
