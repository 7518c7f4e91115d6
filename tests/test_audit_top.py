"""The audit's top-alpha part says who is found there, as the metrics do."""

import numpy as np
import pytest

from fairpot.auditing.measures import summarise
from fairpot.metrics import score_table, top_precision, top_recall


@pytest.mark.parametrize("region", ["pooled", "group"])
@pytest.mark.parametrize("weighted", [False, True])
def test_recall_and_precision(region, weighted):
    rng = np.random.default_rng(0)
    y, scores, group = rng.integers(0, 2, 200), rng.integers(0, 30, 200) / 30, rng.choice(["a", "b", "c"], 200)
    given = {"sensitive_features": group, "sample_weight": rng.integers(1, 4, 200) if weighted else None}
    partial = summarise(score_table(y, scores, **given), alpha=0.3, region=region)["partial"]
    options = given | {"alpha": 0.3, "region": region}
    assert partial["recall"] == pytest.approx(top_recall(y, scores, **options), abs=1e-15)
    assert partial["precision"] == pytest.approx(top_precision(y, scores, **options), abs=1e-15)
    for each in partial["groups"]:
        assert each["recall"] == pytest.approx(top_recall(y, scores, group=each["group"], **options), abs=1e-15)
        assert each["precision"] == pytest.approx(top_precision(y, scores, group=each["group"], **options), abs=1e-15)
    assert partial["found"] == sum(each["found"] for each in partial["groups"])


def test_what_has_nothing_to_count_is_none():
    y, scores, group = [0, 1, 0, 1, 0, 0], [0.1, 0.2, 0.8, 0.9, 0.3, 0.4], ["a", "a", "b", "b", "c", "c"]
    partial = summarise(score_table(y, scores, sensitive_features=group), alpha=0.3, reference="b")["partial"]
    found = {each["group"]: (each["recall"], each["precision"]) for each in partial["groups"]}
    assert found == {"a": (0.0, None), "b": (1.0, 0.5), "c": (None, None)}
