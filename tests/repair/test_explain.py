"""A person's record: what becomes of a score, and why; the same in memory, from a file and of a loaded model."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fairpot
from fairpot import FairPOT, score_table
from fairpot.repair.registry import methods

pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.SmallGroupWarning")


def rows(seed: int = 11, size: int = 900) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    town, ill = rng.choice(["Aix", "Brest", "Caen", "Dole"], size, p=[0.4, 0.3, 0.28, 0.02]), rng.integers(0, 2, size)
    lead = pd.Series(town).map({"Aix": 1.5, "Brest": 0.0, "Caen": 0.6, "Dole": 0.0}).to_numpy()
    risk = np.round(1 / (1 + np.exp(-rng.normal(2 * ill + lead - 1.5))), 3)
    return pd.DataFrame({"town": town, "ill": ill, "risk": risk, "key": [f"k{i}" for i in rng.permutation(size)]})


def given(method):
    """Make a method at a strength of its own: what is said does not depend on how it was chosen."""
    return method(**{method.dial.name: 1.0 if method.dial.high == np.inf else 0.4})


def agrees(found: pd.DataFrame, model, frame: pd.DataFrame, risk: str = "risk") -> None:
    """Compare a record with what the scores themselves say."""
    new = model.transform(frame[risk].to_numpy(), sensitive_features=frame["town"].to_numpy())
    np.testing.assert_array_equal(found["old_score"], frame[risk])
    np.testing.assert_array_equal(found["new_score"], new)
    for name, scores in (("old_rank", frame[risk]), ("new_rank", pd.Series(new))):
        np.testing.assert_array_equal(found[name], scores.rank(method="min", ascending=False))
    said_to_move = found["why"].str.startswith("moved").to_numpy()
    assert (said_to_move | (new == frame[risk].to_numpy())).all()  # who is said to stay does
    assert (found["group"].to_numpy() == frame["town"].to_numpy()).all()


@pytest.mark.parametrize("method", methods().values(), ids=methods())
def test_every_method_says_why(method, tmp_path):
    frame, new = rows(), rows(12, 300)
    repair = given(method).fit(frame["risk"], frame["ill"], sensitive_features=frame["town"], min_group=40)
    repair.save(tmp_path / "map.json")
    new.to_csv(tmp_path / "new.csv", index=False)
    found = repair.explain(new["risk"], sensitive_features=new["town"], ids=new["key"])
    assert list(found["id"]) == list(new["key"])
    agrees(found, repair, new)
    assert set(found["why"][new["town"] == "Dole"]) == {"left out of the comparison: scores stay"}
    if repair.reference_ is not None:
        assert set(found["why"][new["town"] == repair.reference_]) == {"reference group: scores stay"}
    loaded = fairpot.load(tmp_path / "map.json")
    again = loaded.explain(new["risk"], sensitive_features=new["town"], ids=new["key"])
    pd.testing.assert_frame_equal(again, found)
    written = tmp_path / "record.csv"
    fairpot.apply(repair, tmp_path / "new.csv", tmp_path / "o.csv", score="risk", group="town", changes=written)
    record = pd.read_csv(written)
    assert [*record.columns] == [*found.columns][1:]
    np.testing.assert_array_equal(record["why"], found["why"])
    np.testing.assert_array_equal(record["new_rank"], found["new_rank"])


@pytest.mark.parametrize(
    ("options", "lower"),
    [({"lam": 0.3}, False), ({"lam": 0.6, "monotone": True}, True), ({"lam": 1.0, "top": 0.25, "repair": "top"}, True)],
)
def test_the_part_of_the_map_is_named(options, lower, tmp_path):
    frame, new = rows(), rows(13, 400)
    sign = -1.0 if lower else 1.0
    frame["points"], new["points"] = sign * frame["risk"], sign * new["risk"]
    table = score_table(frame["ill"], frame["points"], sensitive_features=frame["town"], lower_is_riskier=lower)
    repair = FairPOT(reference="Aix", **options).fit(table)
    found = repair.explain(new["points"], sensitive_features=new["town"])
    agrees(found, repair, new, "points")
    for town in ("Brest", "Caen"):
        own, scores = found[found["group"] == town], new["risk"][new["town"] == town]
        below = own["why"].str.startswith(f"{'above' if lower else 'below'} the part that is moved").to_numpy()
        assert below.any()
        assert scores[below].max() < scores[~below].min()  # one part, and all of it
        assert not own["why"].str.startswith(f"{'below' if lower else 'above'} the part").any()
        assert own["why"].str.contains("by transport towards 'Aix'").any()
    new.to_csv(tmp_path / "new.csv", index=False)
    columns = {"score": "points", "group": "town"}
    fairpot.apply(repair, tmp_path / "new.csv", tmp_path / "o.csv", changes=tmp_path / "c.csv", **columns)
    np.testing.assert_array_equal(pd.read_csv(tmp_path / "c.csv")["why"], found["why"])


def test_intersections_other_frames_and_wrong_ids():
    frame = rows()
    both = frame.assign(night=np.arange(len(frame)) % 2)[["town", "night"]]
    repair = FairPOT(0.5).fit(frame["risk"], frame["ill"], sensitive_features=both)
    found = repair.explain(frame["risk"], sensitive_features=both[["night", "town"]])
    assert set(found["group"]) <= set(repair.groups_)
    np.testing.assert_array_equal(found["new_score"], repair.transform(frame["risk"], sensitive_features=both))
    single = FairPOT(0.5).fit(frame["risk"], frame["ill"], sensitive_features=frame["town"])
    lazy = pl.from_pandas(frame)
    polars = single.explain(lazy["risk"], sensitive_features=lazy["town"], ids=lazy["key"])
    assert isinstance(polars, pl.DataFrame)
    assert polars["why"].to_list() == list(single.explain(frame["risk"], sensitive_features=frame["town"])["why"])
    with pytest.raises(ValueError, match="ids has 3 rows, but there are 900 scores"):
        single.explain(frame["risk"], sensitive_features=frame["town"], ids=[1, 2, 3])
    nobody = single.at(0.0).explain(frame["risk"], sensitive_features=frame["town"])
    assert set(nobody["why"]) == {"nobody of the group is moved", "reference group: scores stay"}
