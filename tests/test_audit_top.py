"""The audit's top-alpha part says who is found there, as the metrics do."""

import numpy as np
import pytest

from fairpot import audit, score_table
from fairpot.auditing.measures import summarise
from fairpot.metrics import top_precision, top_recall


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


@pytest.mark.parametrize("region", ["pooled", "group"])
def test_cells_that_are_small_in_the_top_alone_are_named(region):
    """Eighty rows of every cell, enough; in the top half there are fourteen positives of "b", and none of "c"."""
    cells = {("a", 1): 40, ("a", 0): 40, ("b", 1): 14, ("b", 0): 66, ("c", 1): 0, ("c", 0): 80}
    top = np.concatenate([np.arange(80) < inside for inside in cells.values()])
    y, group = (np.repeat([name[k] for name in cells], 80) for k in (1, 0))
    scores = np.random.default_rng(0).random(len(y)) / 2 + top / 2
    found = audit(y, scores, sensitive_features=group, alpha=0.5, region=region)
    assert [text for text in found.warnings if "what rests on them" in text] == [
        "group 'b' has only 14 positives in the top 0.5 (under 30): what rests on them is uncertain.",
        "group 'c' has no positives in the top 0.5: what rests on them cannot be measured.",
    ]
    everywhere = audit(y, scores, sensitive_features=group).warnings
    assert not any("what rests on them" in text for text in everywhere)
