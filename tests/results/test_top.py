"""The audit's top-top part says who is found there, as the metrics do."""

import numpy as np
import pytest

from fairpot import FairPOT, audit, effect, score_table
from fairpot.metrics import auc, top_precision, top_recall, xauc_gap
from fairpot.report import FairnessReport
from fairpot.results.audit import audit_table


@pytest.mark.parametrize("top_of", ["all", "group"])
@pytest.mark.parametrize("weighted", [False, True])
def test_recall_and_precision(top_of, weighted):
    rng = np.random.default_rng(0)
    y, scores, group = rng.integers(0, 2, 200), rng.integers(0, 30, 200) / 30, rng.choice(["a", "b", "c"], 200)
    given = {"sensitive_features": group, "sample_weight": rng.integers(1, 4, 200) if weighted else None}
    [partial] = audit_table(score_table(y, scores, **given), top=0.3, top_of=top_of).tops
    options = given | {"top": 0.3, "top_of": top_of}
    assert partial.recall == pytest.approx(top_recall(y, scores, **options), abs=1e-15)
    assert partial.precision == pytest.approx(top_precision(y, scores, **options), abs=1e-15)
    for each in partial.groups:
        assert each.recall == pytest.approx(top_recall(y, scores, among=each.group, **options), abs=1e-15)
        assert each.precision == pytest.approx(top_precision(y, scores, among=each.group, **options), abs=1e-15)
    assert partial.positives == sum(each.positives for each in partial.groups)


def test_what_has_nothing_to_count_is_none():
    y, scores, group = [0, 1, 0, 1, 0, 0], [0.1, 0.2, 0.8, 0.9, 0.3, 0.4], ["a", "a", "b", "b", "c", "c"]
    [partial] = audit_table(score_table(y, scores, sensitive_features=group), top=0.3, reference="b").tops
    found = {each.group: (each.recall, each.precision) for each in partial.groups}
    assert found == {"a": (0.0, None), "b": (1.0, 0.5), "c": (None, None)}


@pytest.mark.parametrize("top_of", ["all", "group"])
def test_cells_that_are_small_in_the_top_alone_are_named(top_of):
    """Eighty rows of every cell, enough; in the top half there are fourteen positives of "b", and none of "c"."""
    cells = {("a", 1): 40, ("a", 0): 40, ("b", 1): 14, ("b", 0): 66, ("c", 1): 0, ("c", 0): 80}
    top = np.concatenate([np.arange(80) < inside for inside in cells.values()])
    y, group = (np.repeat([name[k] for name in cells], 80) for k in (1, 0))
    scores = np.random.default_rng(0).random(len(y)) / 2 + top / 2
    found = audit(y, scores, sensitive_features=group, top=0.5, top_of=top_of)
    small = [note for note in found.notes if note.kind == "small"]
    assert [(note.group, note.top, note.value) for note in small] == [("b", 0.5, 14), ("c", 0.5, 0)]
    assert small[0].text == (
        "b has only 14 rows with the outcome in the top 50% (under 30). Do not act on numbers that depend on them."
    )
    assert small[1].text == ("c has no rows with the outcome in the top 50%: what depends on them cannot be measured.")
    assert not [note for note in audit(y, scores, sensitive_features=group).notes if note.kind == "small"]


def visits(n=900, seed=4):
    """Draw outcomes, scores, groups, weights and patients of visits."""
    rng = np.random.default_rng(seed)
    group, y = rng.choice(["north", "south", "west"], n), (rng.random(n) < 0.4).astype(int)
    scores = np.round(rng.normal(y + 0.4 * (group == "south"), 1.2), 2)
    return y, scores, group, rng.integers(1, 4, n), np.arange(n) // 3


KINDS = {
    "rows": {},
    "weights": {"sample_weight": visits()[3]},
    "importance": {"sample_weight": visits()[3] / 2, "weights": "importance"},
    "clusters": {"clusters": visits()[4]},
}


@pytest.mark.parametrize("top_of", ["all", "group"])
@pytest.mark.parametrize("kind", KINDS)
def test_several_thresholds_and_tops_are_each_as_if_alone(kind, top_of):
    y, scores, group, *_ = visits()
    given = {"sensitive_features": group, "top_of": top_of, **KINDS[kind]}
    thresholds, alphas = [1.1, -0.3, 0.5], [0.4, 0.15]
    found = audit(y, scores, threshold=thresholds, top=alphas, **given)
    several = found.to_dict()
    alone = [audit(y, scores, top=each, **given).to_dict() for each in alphas]
    assert several["tops"] == [each["tops"][0] for each in alone]
    at = [audit(y, scores, threshold=each, **given).to_dict() for each in thresholds]
    assert several["rates"] == [*(each["rates"][0] for each in [*at, *alone]), at[0]["rates"][-1]]
    assert (several["auc"], several["gap"]) == (alone[0]["auc"], alone[0]["gap"])
    for top in found.tops:
        options = {"top": top.top, **given}
        if kind != "clusters":
            metric = {name: value for name, value in options.items() if name != "weights"}
            assert top.gap == pytest.approx(xauc_gap(y, scores, **metric), abs=1e-12)
            assert top.auc == pytest.approx(auc(y, scores, **metric), abs=1e-12)


def test_several_are_shown_everywhere():
    y, scores, group, *_ = visits(seed=5)
    found = audit(y, scores, sensitive_features=group, threshold=(0.25, 1.5), top=np.array([0.2, 0.35]))
    text = str(found)
    for said in (
        "gap in the top 20%",
        "gap in the top 35%",
        "overall gap",
    ):
        assert said in text
    top = found.frame("top")
    assert list(top["top"]) == [0.2, 0.35]
    assert list(top["gap"]) == [float(each.gap) for each in found.tops]
    rates = found.frame("rates")
    shown = rates[(rates["group"] == "west") & (rates["rate"] == "tpr")]
    assert list(shown["at"]) == ["score", "score", "top", "top"]
    for threshold, tpr in zip(shown["threshold"], shown["value"]):
        assert tpr == pytest.approx((scores[(group == "west") & (y == 1)] >= threshold).mean())
    page = found._repr_html_()
    assert "Top of the ranking" in page
    for said in ("at 0.25 or above", "at 1.5 or above", "in the top 20%", "in the top 35%"):
        assert f"Flagged {said}" in page
    assert [each.top for each in found.verdicts(0.3)] == [None, 0.2, 0.35]
    assert [each.top for each in found.verdicts(0.3, guards="top")] == [0.2, 0.35]
    report = FairnessReport(found.table, threshold=[0.25, 1.5], top=[0.2, 0.35]).to_dict()["lines"]
    assert {0.25, 1.5} <= {each.get("threshold") for each in report}
    assert {0.2, 0.35} <= {each.get("top") for each in report}


def test_one_top_several_and_none():
    y, scores, group, *_ = visits(seed=6)
    given = {"sensitive_features": group, "level": None}
    one = audit(y, scores, top=0.3, **given).to_dict()["tops"]
    assert len(one) == 1
    assert audit(y, scores, top=[0.3], **given).to_dict()["tops"] == one
    assert audit(y, scores, top=[0.3, 0.3], threshold=[1, 1.0], **given).to_dict()["tops"] == one
    assert audit(y, scores, **given).tops == audit(y, scores, top=[], threshold=[], **given).tops == ()
    with pytest.raises(ValueError, match=r"got 1\.2"):
        audit(y, scores, top=[0.3, 1.2], **given)
    with pytest.raises(ValueError, match="threshold must be a finite number"):
        audit(y, scores, threshold=[0.3, "high"], **given)


def test_thresholds_are_on_the_scale_of_scores_that_are_low_for_high_risk():
    y, scores, group, *_ = visits(seed=7)
    table = score_table(y, -scores, sensitive_features=group, lower_is_riskier=True)
    found = audit(table, threshold=[-0.5, 0.2]).rows("rates")
    flagged = [each["hits"] for each in found if (each["rate"], each["group"]) == ("selection_rate", "all")]
    assert flagged == [(-scores <= -0.5).sum(), (-scores <= 0.2).sum()]


def test_an_effect_has_several_thresholds_and_one_top():
    y, scores, group, *_ = visits(seed=8)
    fp = FairPOT(0.5).fit(scores, y, sensitive_features=group)
    found = effect(fp, scores, y, sensitive_features=group, threshold=[0.1, 0.9])
    assert [each.threshold for each in found.after.rates_asked] == [0.1, 0.9]
    assert "At 0.9 or above" in str(found)
    with pytest.raises(TypeError, match="top must be a whole number of rows or a share"):
        effect(fp, scores, y, sensitive_features=group, top=[0.1, 0.2])
