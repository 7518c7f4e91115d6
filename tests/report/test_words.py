"""Which sentence is said when."""

import re
from pathlib import Path

import numpy as np
import pytest

from display_cases import make_rows
from fairpot import FairPOT, audit, load, score_table
from fairpot.inference import change_of_scores, verdict
from fairpot.report import FairnessReport, text, words


def said(report):
    return " ".join(words.answer(report.summary))


def test_who_is_behind_and_what_the_repair_does(report):
    sentence = said(report)
    before, after = report.summary["before"], report.summary["after"]
    assert "“F” is ranked behind “M”" in sentence
    assert f"in {100 * before['xauc_behind']:.1f} % of pairs" in sentence
    assert f"it is {100 * before['xauc_ahead']:.1f} %" in sentence
    assert f"to {100 * after['signed_gap']:.1f} percentage points" in sentence
    assert "with a stroke" in sentence


def test_going_past_even(rows):
    scores, y, group = rows
    fp = FairPOT(1.0, ties="half").fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(fp)
    assert report.summary["after"]["overshoots"] == (report.summary["after"]["signed_gap"] < 0)
    assert ("goes past even" in said(report)) == words.goes_past(report.summary["after"])


def test_a_partial_repair_speaks_of_the_top(rows):
    scores, y, group = rows
    fp = FairPOT(0.6, alpha=0.3).fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(fp)
    top = report.summary["after"]["top"]
    assert f"to {100 * top['gap']:.1f} percentage points and AUC" in said(report)
    assert "In the top 30 % of the ranking" in said(report)
    assert "those of the top 30 %" in report.figures["tradeoff"].note


def test_groups_that_are_alike():
    y, scores = [0, 1, 0, 1] * 10, [0.1, 0.8, 0.3, 0.9] * 10
    group = ["F"] * 4 + ["M"] * 4
    report = FairnessReport.from_predictions(y, scores, sensitive_features=group * 5)
    assert "ranked almost alike" in said(report)
    assert "No repair was asked for" in said(report)


def test_the_change_is_said_with_its_sign(rows):
    scores, y, group = rows
    fp = FairPOT(1.0).fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(fp)
    moved = fp.transform(scores, sensitive_features=group)
    known = change_of_scores(y, scores, moved, sensitive_features=group).gap
    assert report.summary["changes"]["gap"]["signed"]["low"] == pytest.approx(known.signed.low, abs=1e-9)
    ahead, behind = known.groups
    numbers = [f"{100 * getattr(known.signed, name):+.1f}" for name in ("before", "after", "change", "low", "high")]
    told = "over “{1}”, the gap goes from {2} to {3} points: a change of {4} (95 % interval {5} to {6})."
    told = ("Signed, seen from “{0}” " + told).format(ahead, behind, *numbers)
    assert told in said(report)
    assert told[:40] in report.to_markdown()
    assert "Signed, seen" not in said(FairnessReport(fp.table_))


def test_a_certificate_is_history(tmp_path):
    """On the fitted rows it is told as what it was; on others, what they say of it comes first."""
    scores, y, group = make_rows(3000)
    fp = FairPOT(max_gap=0.2, confidence=0.9).fit(scores, y, sensitive_features=group)
    sentences = words.answer(FairnessReport.from_estimator(fp).summary)
    assert sentences[-1].startswith(
        "Certified then: the overall gap is at most 20.0 percentage points with 90 % confidence"
    )
    assert f"One-sided upper limit then: {100 * fp.certificate_.limit:.2f} points." in sentences[-1]
    assert "cannot test it" in sentences[-1]
    assert "certificate" not in sentences[0]
    fp.save(tmp_path / "map.json", timestamp=True)
    loaded = load(tmp_path / "map.json")
    assert "Certified then" in said(FairnessReport(fp.table_, loaded))
    assert "Certified then" not in said(FairnessReport(fp.table_, fp.at(0.3)))
    new, outcomes, whose = make_rows(3000, seed=5)
    worse = np.where(whose == "F", new - 2 * outcomes, new)
    for moved, answer in ((new, "compatible"), (worse, "contradicted")):
        rows = score_table(outcomes, moved, sensitive_features=whose)
        found = verdict(rows.rescored(fp.maps_for(rows)), bound=0.2, level=0.9)
        assert found.answer == {"compatible": "within", "contradicted": "exceeds"}[answer]
        told = words.answer(FairnessReport(rows, loaded).summary)
        assert told[0].startswith(f"These rows {'are compatible with' if answer == 'compatible' else 'contradict'} the")
        assert (
            f"(measured {100 * found.interval.value:.1f}, two-sided interval {100 * found.interval.low:.1f}" in told[0]
        )
        assert loaded.fitted_on_["time"] in told[-1]
        certificate = FairnessReport(rows, loaded).summary["method"]["certificate"]
        assert (certificate["answer"], certificate["bound"]) == (answer, 0.2)


def test_what_cannot_be_told():
    report = FairnessReport.from_predictions([1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], sensitive_features=list("FFMM"))
    assert "cannot be told" in said(report)
    assert report.summary["before"]["signed_gap"] is None
    kinds = [words.warning(w) for w in report.summary["warnings"]]
    assert any("“F” has nobody without outcome" in k for k in kinds)


def test_small_groups_are_warned_of():
    scores, y, group = make_rows(300)
    group[:10] = "few"
    report = FairnessReport.from_predictions(y, scores, sensitive_features=group)
    told = [words.warning(w) for w in report.summary["warnings"]]
    assert sum("“few” has only" in t for t in told) == 2


def test_a_widened_gap_is_not_called_narrower(rows):
    scores, y, group = rows
    fp = FairPOT(0.4, reference="F", ties="half").fit(scores, y, sensitive_features=group)
    sentence = said(FairnessReport.from_estimator(fp))
    assert "narrows" in sentence or "does not narrow" in sentence


def test_every_sentence_is_used():
    """A sentence nobody says would be translated in vain."""
    folder = Path(text.__file__).parent
    code = "".join(path.read_text() for path in folder.glob("*.py") if path.name != "text.py")
    stems = (
        "dial_",
        "warn_",
        "col_",
        "fig_",
        "explore_",
        "choice_",
        "ties_",
        "who_",
        "cost_",
        "curve_",
        "with",
        "repaired_",
        "widened_",
        "certificate_",
    )
    unused = [name for name in text.TEXT if not re.search(rf"[\"']{name}[\"']", code) and not name.startswith(stems)]
    assert unused == []


def test_a_tiny_group_is_not_the_headline():
    rng = np.random.default_rng(31)
    group = np.repeat(["large", "other", "tiny"], [600, 600, 12])
    y = rng.integers(0, 2, len(group))
    score = rng.normal(y + 0.3 * (group == "large") - 4.0 * (group == "tiny"))
    columns = {"sensitive_features": group}
    report = FairnessReport(score_table(y, score, **columns))
    audited = audit(y, score, **columns)
    assert report.summary["pair"] == {"ahead": "large", "behind": "other"}
    assert report.summary["before"]["gap"] == pytest.approx(float(audited.headline), abs=1e-12)
    assert report.summary["before"]["intervals"]["gap"] == pytest.approx([audited.headline.low, audited.headline.high])
    assert report.summary["data"]["small_groups"] == ["tiny"]
    assert "listed apart: “tiny”" in said(report)
    assert any("tiny" in (pair["first"], pair["second"]) for pair in report.summary["before"]["pairs"])
