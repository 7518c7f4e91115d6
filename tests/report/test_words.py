"""Which sentence is said when."""

import re
from pathlib import Path

import numpy as np
import pytest

from display_cases import make_rows
from fairpot import FairPOT, audit, effect, load, score_table
from fairpot.inference import change_of_scores, verdict
from fairpot.report import FairnessReport, text, words


def said(report):
    return " ".join(words.answer(report.summary))


def read(report):
    """Read the page without its script and style."""
    body = re.sub(r"<(script|style).*?</\1>", "", report.to_html(), flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", body)


def test_the_finding_is_that_of_the_audit(report, rows):
    """Direction, gap and interval are the audit's own; the page writes them in points."""
    scores, y, group = rows
    found = audit(y, scores, sensitive_features=group).finding
    assert said(report).startswith(f"{found.who}.")
    limits = [f"{100 * each:.1f}" for each in (float(found.gap), found.gap.low, found.gap.high)]
    assert "The gap is {} points (95% interval {} to {}).".format(*limits) in said(report)
    assert found.meaning.replace("the outcome", "a stroke") in said(report)
    assert report.summary["pair"] == dict(zip(("higher", "lower"), found.pair))


def test_whose_scores_change(report, fitted, rows):
    scores, _, group = rows
    shift = fitted.transform(scores, sensitive_features=group) - scores
    up, down, size = int((shift > 0).sum()), int((shift < 0).sum()), int((group == "F").sum())
    assert (shift[group == "M"] == 0).all()
    assert up > down > 0
    told = f"It raises {up:,} of the {size:,} scores of F and lowers {down:,}; no score of M changes."
    assert told in said(report)
    assert words.whose(report.summary["before"]) == "At this setting no score changes."


def test_whose_scores_change_of_many_groups():
    moves = [("a", 5, 5, 0), ("b", 4, 4, 0), ("c", 3, 1, 2), ("d", 2, 0, 2), ("e", 0, 0, 0)]
    groups = [{"group": g, "rows": 10, "moved": m, "up": u, "down": d} for g, m, u, d in moves]
    assert words.whose({"groups": groups}) == (
        "It changes 14 of 50 scores (10 up, 4 down) in 4 of 5 groups, most in a (5 of 10); no score of e changes."
    )
    assert words.whose({"groups": groups[1:3]}) == (
        "It raises 4 of the 10 scores of b, lowers 2 of the 10 scores of c and raises 1."
    )


def test_valence_is_said_once_it_is_known(rows):
    scores, y, group = rows
    neutral = FairnessReport.from_predictions(y, scores, sensitive_features=group)
    repaired = FairPOT(0.5).fit(scores, y, sensitive_features=group)
    every = said(neutral) + read(neutral) + read(FairnessReport.from_estimator(repaired))
    assert not re.search(r"harm|benefit|ahead|behind|\b(gains|loses)\b", every)
    for means, word in (("harm", "harms M"), ("help", "benefits M")):
        told = FairnessReport.from_predictions(y, scores, sensitive_features=group, high_score_means=means)
        assert f"The score ranks M higher than F, which {word}." in said(told)
        assert f"which {word}." in told.to_html()
        assert told.summary["finding"]["high_score_means"] == means


def test_coin_flips_have_no_clear_difference():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 900)
    group = rng.choice(["heads", "tails"], 900)
    report = FairnessReport.from_predictions(y, rng.normal(y), sensitive_features=group)
    assert report.summary["finding"]["state"] == "no clear difference"
    assert said(report).startswith("No clear difference between ")
    assert "No clear difference between" in report.to_html()
    [pair] = report.summary["before"]["pairs"]
    assert pair["limits"][0] < 0 < pair["limits"][1]
    low, high = (f"{100 * each:.1f}".replace("-", "−") for each in pair["limits"])
    assert f"(95% interval {low} to {high})" in said(report)
    fp = FairPOT(0.5).fit(report.table)
    assert "what the repair changes may be chance" in " ".join(
        words.warnings(FairnessReport.from_estimator(fp).summary)
    )


@pytest.mark.parametrize("means", ["help", "harm"])
def test_the_picture_says_who_gains(means):
    """By the rows of each group in the top tenth, ties included; nobody gains where nothing changes."""
    scores, y, group = make_rows(600)
    scores = scores.round(2)
    fp = FairPOT(0.6, reference="M").fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_predictions(y, scores, sensitive_features=group, method=fp, high_score_means=means)
    new = fp.transform(scores, sensitive_features=group)
    above = [each >= np.sort(each)[-60] for each in (scores, new)]
    page = read(report)
    for name in "FM":
        was, now = (int((each & (group == name)).sum()) for each in above)
        assert was != now
        way = "gains" if (now > was) == (means == "help") else "loses"
        assert re.search(rf"{was} +→ +{now} +of {int((group == name).sum())} *, {way}", page)


def test_the_top_of_each_group_is_called_so(rows):
    scores, y, group = rows
    fp = FairPOT(0.6, top=0.3, top_of="group", repair="top").fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(fp)
    assert said(report).startswith("In the top 30% of each group: the score ranks M higher than F.")
    assert "In the top 30% of each group, someone in M" in said(report)
    assert "Who is in the top 30% of the list?" in report.to_html()


def test_an_audit_has_no_word_of_repairs(rows):
    scores, y, group = rows
    told = read(FairnessReport.from_predictions(y, scores, sensitive_features=group, high_score_means="harm"))
    assert not re.findall(r"repair|slider|adjusted|strength|setting|\b(gains?|loses)\b", told, re.IGNORECASE)


def test_overshooting(rows):
    scores, y, group = rows
    fp = FairPOT(1.0, ties="half").fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(fp)
    now = report.summary["after"]["signed_gap"]
    assert words.goes_past(report.summary, report.summary["after"]) == (now <= -0.0005)
    assert ("overshoots" in said(report)) == (now <= -0.0005)
    low, high = words.pair_limits(report.summary, report.summary["after"])
    assert ("could be chance" in said(report)) == (now <= -0.0005 and low <= 0 <= high)


def test_a_partial_repair_speaks_of_the_top(rows):
    scores, y, group = rows
    fp = FairPOT(0.6, top=0.3, repair="top").fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(fp)
    known = effect(fp, scores, y, sensitive_features=group)
    found = report.summary["finding"]
    assert (found["alpha"], found["gap"]["estimate"]) == (0.3, pytest.approx(float(known.finding.gap), abs=1e-12))
    assert said(report).startswith("In the top 30%: ")
    after = 100 * abs(report.summary["after"]["top"]["signed_gap"])
    assert f"The repair narrows the gap in the top 30% to {after:.1f} points (" in said(report)
    limits = report.summary["after"]["top"]["pairs"][0]["limits"]
    [pair] = known.after["partial"]["gaps"]
    assert sorted(map(abs, limits)) == pytest.approx(sorted(map(abs, (pair["signed_low"], pair["signed_high"]))))
    page = report.to_html()
    assert "How large is the gap in the top 30%?" in page
    assert "Who is in the top 30% of the list?" in page
    assert "The gap is that of the top 30%" in report.figures["tradeoff"].note


def test_the_change_is_said_with_its_sign(rows):
    scores, y, group = rows
    fp = FairPOT(1.0).fit(scores, y, sensitive_features=group)
    report = FairnessReport.from_estimator(fp)
    moved = fp.transform(scores, sensitive_features=group)
    known = change_of_scores(y, scores, moved, sensitive_features=group).gap
    assert report.summary["changes"]["gap"]["signed"]["low"] == pytest.approx(known.signed.low, abs=1e-9)
    numbers = [f"{100 * getattr(known.signed, n):+.1f}".replace("-", "−") for n in ("change", "low", "high")]
    told = "On the same rows the gap of {} over {} changes by {} points (95% interval {} to {})."
    told = told.format(*known.groups, *numbers)
    assert told in said(report)
    assert told[:40] in report.to_markdown()
    assert "On the same rows" not in said(FairnessReport(fp.table_))


def test_the_badge_says_what_is_known(tmp_path):
    """Not checked on the fitted rows; checked on others; certified, and what the rows say of it."""
    scores, y, group = make_rows(3000)
    plain = FairPOT(max_gap=0.2).fit(scores, y, sensitive_features=group)
    new, outcomes, whose = make_rows(3000, seed=5)
    badges = {
        "Not yet checked on new rows": FairnessReport.from_estimator(plain),
        "Checked on 3,000 new rows": FairnessReport(score_table(outcomes, new, sensitive_features=whose), plain),
    }
    fp = FairPOT(max_gap=0.2, confidence=0.9).fit(scores, y, sensitive_features=group)
    fp.save(tmp_path / "map.json", timestamp=True)
    loaded = load(tmp_path / "map.json")
    badges["Certified: at most 20.0 points, 90% confidence"] = FairnessReport(fp.table_, loaded)
    for badge, report in badges.items():
        assert words.badge(report.summary)[0] == badge
        assert f">{badge}</p>" in report.to_html()
        assert badge in report.to_markdown()
    told = words.trust(badges["Certified: at most 20.0 points, 90% confidence"].summary)
    assert told.startswith("Certified: with 90% confidence the gap on rows like these is at most 20.0 points")
    assert f"One-sided upper limit then: {100 * fp.certificate_.limit:.1f} points." in told
    assert "cannot test it" in told
    same = FairnessReport.from_estimator(fp)
    assert any(line.endswith("up to the certified 20.0 points.") for line in words.warnings(same.summary))
    worse = np.where(whose == "F", new - 2 * outcomes, new)
    for moved, answer in ((new, "agree"), (worse, "contradict")):
        rows = score_table(outcomes, moved, sensitive_features=whose)
        found = verdict(rows.rescored(fp.fair_maps_.maps_on(rows)), bound=0.2, level=0.9)
        told = words.trust(FairnessReport(rows, loaded).summary)
        gap, low, high = (
            f"{100 * each:.1f}" for each in (found.interval.value, found.interval.low, found.interval.high)
        )
        assert f"These rows {answer}" in told
        assert f": {gap} points (90% interval {low} to {high})." in told
        assert loaded.fitted_on_["time"] in told


def test_what_cannot_be_told():
    report = FairnessReport.from_predictions([1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], sensitive_features=list("FFMM"))
    assert "No gap can be measured" in said(report)
    assert report.summary["before"]["signed_gap"] is None
    assert any(line.startswith("F: only 2 with the outcome and 0 without.") for line in words.warnings(report.summary))


def test_small_groups_are_warned_of_in_one_line_each():
    scores, y, group = make_rows(300)
    group[:10] = "few"
    report = FairnessReport.from_predictions(y, scores, sensitive_features=group)
    few = group == "few"
    line = f"few: only {int((few & (y == 1)).sum())} with the outcome and {int((few & (y == 0)).sum())} without."
    assert sum(told.startswith(line) for told in words.warnings(report.summary)) == 1


def test_more_than_three_warnings_are_folded():
    scores, y, group = make_rows(700, tuple("abcdefgh"))
    report = FairnessReport.from_predictions(y, scores, sensitive_features=group)
    lines = words.warnings(report.summary)
    assert len(lines) > 3
    page = report.to_html()
    box = page[page.index('class="warnings"') :]
    assert box.index(lines[2]) < box.index(f"{len(lines) - 3} more") < box.index(lines[3])


def test_the_rule_that_set_the_dial(rows):
    scores, y, group = rows
    rules = {
        "Set by hand: lam = 0.4": {"lam": 0.4},
        "The highest AUC with a gap of at most 3.0 points": {"max_gap": 0.03},
        "The smallest gap that costs at most 0.01 of AUC": {"max_auc_loss": 0.01},
        "The smallest gap": {},
        "The highest AUC with a gap among the 200 ranked highest of at most 9.0 points": {
            "max_gap": 0.09,
            "top": 200,
        },
        "The highest AUC with a gap in the top 20% of at most 9.0 points": {"max_gap": 0.09, "top": 0.2},
        "The highest net benefit from 0.4 up with a gap of at most 3.0 points": {
            "max_gap": 0.03,
            "net_benefit_at": 0.4,
        },
    }
    for rule, given in rules.items():
        fp = FairPOT(**given).fit(scores, y, sensitive_features=group)
        assert words.rule(FairnessReport.from_estimator(fp).summary) == rule


def test_every_sentence_is_used():
    """A sentence nobody says would be translated in vain."""
    folder = Path(text.__file__).parent
    code = "".join(path.read_text() for path in folder.glob("*.py") if path.name != "text.py")
    stems = (
        *("dial_", "warn_", "col_", "fig_", "choice_", "ties_", "who_", "curve_", "part_", "card_", "group_"),
        *("certified_", "badge_", "stage_", "step_", "raised", "lowered"),
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
    assert report.summary["pair"] == {"higher": "large", "lower": "other"}
    assert report.summary["before"]["gap"] == pytest.approx(float(audited.headline), abs=1e-12)
    assert report.summary["before"]["intervals"]["gap"] == pytest.approx([audited.headline.low, audited.headline.high])
    assert report.summary["data"]["small_groups"] == ["tiny"]
    assert any("tiny" in (pair["first"], pair["second"]) for pair in report.summary["before"]["pairs"])
    assert 'class="heat hatched' in report.to_html()


def test_ties_are_not_said_to_matter_where_both_ways_are_written_alike():
    both = {"kind": "ties", "name": "AUC", "strict": 0.7806, "half": 0.7813}
    summary = {"data": {"outcome": "a stroke"}, "warnings": [both, {**both, "half": 0.7836}]}
    assert words.warnings(summary) == ["Ties matter: the AUC is 0.781 if a tie is no win, 0.784 if it is half a win."]
    y = np.r_[np.ones(500), np.zeros(500)]
    score, group = np.r_[np.arange(500), np.arange(499), 0] + 0.5, np.tile(["F", "M"], 500)
    warned = [text for text in audit(y, score, sensitive_features=group).warnings if "ties matter" in text]
    for text_of in warned:
        strict, half = re.findall(r"is (\d\.\d+) if a tie is no win, (\d\.\d+)", text_of)[0]
        assert strict != half
