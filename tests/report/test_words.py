"""Which sentence is said when."""

import html
import re
from pathlib import Path

import numpy as np
import pytest

from display_cases import make_rows
from fairpot import FairPOT, audit, effect, load, score_table
from fairpot.inference import verdict
from fairpot.report import FairnessReport, figures
from fairpot.report.figures import told_gap
from fairpot.report.tables import answer
from fairpot.results.rates import Moved
from fairpot.words import FRACTIONS, changed_scores, meaning, written
from fairpot.words import page as words
from inference_oracles import change_of_scores


def said(made):
    return " ".join(answer(made._view))


def noted(made, outcome="the outcome"):
    return [written(note, FRACTIONS, outcome) for note in made.notes]


def read(made):
    """Read the page without its script and style."""
    body = re.sub(r"<(script|style).*?</\1>", "", made.to_html(), flags=re.DOTALL)
    return html.unescape(re.sub(r"<[^>]*>", " ", body))


def test_the_first_statement_is_that_of_the_audit_or_the_effect(report, fitted, rows):
    """Direction, gap and interval are the results' own, written alike."""
    scores, y, group = rows
    found = audit(y, scores, sensitive_features=group).statement
    plain = FairnessReport.from_predictions(y, scores, sensitive_features=group, outcome="a stroke")
    assert said(plain).startswith(f"{found.text} {meaning(found, 'a stroke')}")
    assert html.escape(found.sentence) in plain.to_html()
    assert meaning(found, "a stroke") in read(plain)
    first = effect(fitted, scores, y, sensitive_features=group).statements[0]
    assert said(report).startswith(first.text)
    assert first.sentence in read(report)
    assert f">{first.badge}</p>" in report.to_html()


def test_whose_scores_change(report, fitted, rows):
    scores, _, group = rows
    shift = fitted.transform(scores, sensitive_features=group) - scores
    up, down, size = int((shift > 0).sum()), int((shift < 0).sum()), int((group == "F").sum())
    assert (shift[group == "M"] == 0).all()
    assert up > down > 0
    told = f"{up + down:,} of {size:,} scores in F change ({up:,} up, {down:,} down); no score in M changes."
    assert told in said(report)
    assert told in read(report)
    assert report._view.said(0) == [report.audit.statements[0].text, "No score changes."]
    assert "(no visible change)" in report.to_html()  # of the AUC, where the dial changes nothing


def test_whose_scores_change_of_many_groups():
    moves = [Moved(g, 10, m, u, d, 0.0, 0.0, 0.0) for g, m, u, d in (("a", 5, 5, 0), ("b", 4, 4, 0), ("c", 3, 1, 2))]
    assert changed_scores(moves, 2) == (
        "5 of 10 scores in a change (all up); 4 of 10 scores in b change (all up); and scores in 1 more group change."
    )


def test_valence_is_said_once_it_is_known(rows):
    scores, y, group = rows
    neutral = FairnessReport.from_predictions(y, scores, sensitive_features=group)
    repaired = FairPOT(0.5).fit(scores, y, sensitive_features=group)
    every = said(neutral) + read(neutral) + read(FairnessReport(repaired.table_, repaired))
    assert not re.search(r"harm|benefit|ahead|behind|\b(gains|loses)\b", every)
    for means, word in (("harm", "harms M"), ("help", "benefits M")):
        told = FairnessReport.from_predictions(y, scores, sensitive_features=group, high_score_means=means)
        assert f"The score ranks M higher than F, which {word}: " in said(told)
        assert f"which {word}: " in told.to_html()
        assert told.to_dict()["statements"][0]["high_score_means"] == means


def test_coin_flips_have_no_clear_gap():
    rng = np.random.default_rng(8)
    y = rng.integers(0, 2, 900)
    group = rng.choice(["heads", "tails"], 900)
    made = FairnessReport.from_predictions(y, rng.normal(y), sensitive_features=group)
    found = made.audit.statement
    assert found.state == "small"
    assert said(made).startswith(f"No clear gap: with 95% confidence the overall gap is at most {found.at_most:.3f}.")
    assert "No clear gap: with" in made.to_html()
    assert found.gap.low < 0 < found.gap.high
    low, high = (f"{each:.3f}" for each in (found.gap.low, found.gap.high))
    assert f"({low} to {high})" in read(made)
    fp = FairPOT(0.5).fit(made.table)
    assert "do not show a difference" in " ".join(noted(FairnessReport(fp.table_, fp)))


def test_a_gap_of_nothing_is_told_as_equal():
    """Few rows have no interval: the sentence then goes by the number alone."""
    y, group = [1, 0, 1, 0], ["F", "F", "M", "M"]
    made = FairnessReport.from_predictions(y, [0.7, 0.3, 0.7, 0.3], sensitive_features=group)
    assert made.audit.gap == 0
    assert "measured is 0.000" in read(made)
    assert not re.search("ranks (F|M) higher", read(made))


@pytest.mark.parametrize("means", ["help", "harm"])
def test_the_picture_says_who_gains(means):
    """By the rows of each group in the top tenth, ties included; nobody gains where nothing changes."""
    scores, y, group = make_rows(600)
    scores = scores.round(2)
    fp = FairPOT(0.6, reference="M").fit(scores, y, sensitive_features=group)
    made = FairnessReport.from_predictions(y, scores, sensitive_features=group, method=fp, high_score_means=means)
    new = fp.transform(scores, sensitive_features=group)
    above = [each >= np.sort(each)[-60] for each in (scores, new)]
    page = read(made)
    for name in "FM":
        was, now = (int((each & (group == name)).sum()) for each in above)
        assert was != now
        way = "gains" if (now > was) == (means == "help") else "loses"
        assert re.search(rf"{was} +→ +{now} +of {int((group == name).sum())} *, {way}", page)


def test_the_top_of_each_group_is_called_so(rows):
    scores, y, group = rows
    fp = FairPOT(0.6, top=0.3, top_of="group", repair="top").fit(scores, y, sensitive_features=group)
    made = FairnessReport(fp.table_, fp)
    assert "gap in the top 30% 0." in said(made)
    plain = FairnessReport.from_predictions(y, scores, sensitive_features=group, top=0.3, top_of="group")
    assert "In the top 30% of each group, someone in M" in said(plain)
    assert "How large is the gap in the top 30% of each group?" in made.to_html()
    assert "Who is in the top 30% of the list?" in made.to_html()


def test_an_audit_has_no_word_of_repairs(rows):
    scores, y, group = rows
    told = read(FairnessReport.from_predictions(y, scores, sensitive_features=group, high_score_means="harm"))
    assert not re.findall(r"repair|slider|adjusted|strength|setting|\b(gains?|loses)\b", told, re.IGNORECASE)


def test_overshooting(rows):
    scores, y, group = rows
    fp = FairPOT(1.0, ties="half").fit(scores, y, sensitive_features=group)
    made = FairnessReport(fp.table_, fp)
    now = told_gap(made.content, made.content.chosen)
    clear = now.high < 0
    assert now <= -0.0005
    assert ("After the repair the score ranks F higher than M: overall gap" in said(made)) == clear
    assert f"Gap {FRACTIONS.gap(now)} (F ranked higher)" in read(made)


def test_a_partial_repair_speaks_of_the_top(rows):
    scores, y, group = rows
    fp = FairPOT(0.6, top=0.3, repair="top").fit(scores, y, sensitive_features=group)
    made = FairnessReport(fp.table_, fp)
    known = effect(fp, scores, y, sensitive_features=group)
    assert made.effect.statement.top == 0.3
    assert made.effect.to_dict() == known.to_dict()
    assert known.statement.metric == "gap in the top 30%"
    assert known.statement.sentence in said(made)
    assert known.statement.sentence in read(made)
    page = made.to_html()
    assert "How large is the gap in the top 30%?" in page
    assert "Who is in the top 30% of the list?" in page
    assert "The gap is that in the top 30%" in made.figures["tradeoff"].note


def test_the_change_is_shown_with_its_sign_and_interval(rows):
    scores, y, group = rows
    fp = FairPOT(1.0).fit(scores, y, sensitive_features=group)
    made = FairnessReport(fp.table_, fp)
    moved = fp.transform(scores, sensitive_features=group)
    known = change_of_scores(y, scores, moved, sensitive_features=group).gap
    numbers = [f"{getattr(known.signed, n):+.3f}" for n in ("change", "low", "high")]
    for text in (read(made), made.to_markdown()):
        assert "{} ({} to {})".format(*numbers) in text
        assert "Changes at other strengths have no interval" in text
    assert "a change is surer" not in FairnessReport(fp.table_).to_markdown()


def test_the_badge_says_what_is_known(tmp_path):
    """Not checked on the fitted rows; checked on others; certified, and what the rows say of it."""
    scores, y, group = make_rows(3000)
    plain = FairPOT(max_gap=0.2).fit(scores, y, sensitive_features=group)
    new, outcomes, whose = make_rows(3000, seed=5)
    badges = {
        "Not checked on new rows": FairnessReport(plain.table_, plain),
        "New rows cannot tell": FairnessReport(score_table(outcomes, new, sensitive_features=whose), plain),
    }
    fp = FairPOT(max_gap=0.2, confidence=0.9).fit(scores, y, sensitive_features=group)
    fp.save(tmp_path / "map.json", timestamp=True)
    loaded = load(tmp_path / "map.json")
    badges["Certified: at most 0.2, 90% confidence"] = FairnessReport(fp.table_, loaded)
    for badge, made in badges.items():
        assert f">{badge}</p>" in made.to_html()
        assert badge in made.to_markdown()
    told = said(badges["Certified: at most 0.2, 90% confidence"])
    assert told.startswith("Certified: with 90% confidence the overall gap on rows like these is at most 0.2 (")
    assert "On the rows it was fitted on, the overall gap is" in told
    worse = np.where(whose == "F", new - 2 * outcomes, new)
    for moved, answers in ((new, "agree"), (worse, "contradict")):
        rows = score_table(outcomes, moved, sensitive_features=whose)
        found = verdict(rows.rescored(fp.fair_maps_.maps_on(rows)), bound=0.2, level=0.9)
        made = FairnessReport(rows, loaded)
        told = made.effect.statement
        assert told.sentence.startswith(f"These rows {answers}")
        assert told.gap == found.interval
        assert loaded.fitted_on_["time"] in told.sentence
        assert told.sentence in read(made)
        assert f'<p class="badge {"good" if answers == "agree" else "bad"}">' in made.to_html()


def test_what_cannot_be_told():
    made = FairnessReport.from_predictions([1, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], sensitive_features=list("FFMM"))
    assert "No gap can be measured" in said(made)
    assert made.to_dict()["statements"][0]["gap"] is None
    assert any(line.startswith("F has no rows without the outcome") for line in noted(made))


def test_small_groups_are_warned_of_in_one_line_each():
    scores, y, group = make_rows(300)
    group[:10] = "few"
    made = FairnessReport.from_predictions(y, scores, sensitive_features=group)
    few = group == "few"
    positives, negatives = int((few & (y == 1)).sum()), int((few & (y == 0)).sum())
    line = f"few has only {positives} rows with the outcome and {negatives} without it (under 30)."
    assert sum(told.startswith(line) for told in noted(made)) == 1


def test_doubt_about_a_small_group_stands_in_the_headline():
    """A group of 40: the first sentence says on how few it stands, each case has a mark, and there is no histogram."""
    scores, y, group = make_rows(900)
    small = np.flatnonzero(group == "F")
    kept = np.r_[np.flatnonzero(group == "M"), small[y[small] == 1][:6], small[y[small] == 0][:34]]
    made = FairnessReport.from_predictions(y[kept], scores[kept], sensitive_features=group[kept], outcome="a stroke")
    page = made.to_html()
    headline = page[page.index('id="finding"') :].partition("</h2>")[0]
    assert "Cannot tell whether there is a gap: only 6 rows with the outcome in F; measured is" in headline
    assert "F has only 6 rows with a stroke (under 30). Do not act on numbers that depend on them." in page
    lane = page[page.index('id="lane-0"') : page.index('id="lane-1"')]
    assert lane.count('class="mark yes"') == 6
    assert lane.count('class="mark no"') == 34
    assert "One mark is one row of F, about " in page
    assert "with the outcome: too few to draw" in page
    assert "positive-0" not in page  # no histogram of six rows


def test_more_than_three_notes_are_folded():
    scores, y, group = make_rows(700, tuple("abcdefgh"))
    made = FairnessReport.from_predictions(y, scores, sensitive_features=group)
    lines = noted(made)
    assert len(lines) > 3
    page = made.to_html()
    box = page[page.index('class="warnings"') :]
    assert box.index(lines[2]) < box.index(f"{len(lines) - 3} more") < box.index(lines[3])


def test_the_rule_that_set_the_dial(rows):
    scores, y, group = rows
    rules = {
        "Set by hand: lam = 0.4": {"lam": 0.4},
        "The highest AUC with a gap of at most 0.03": {"max_gap": 0.03},
        "The smallest gap that costs at most 0.01 of AUC": {"max_auc_loss": 0.01},
        "The smallest gap": {},
        "The highest AUC with a gap among the 200 highest of at most 0.09": {
            "max_gap": 0.09,
            "top": 200,
        },
        "The highest AUC with a gap in the top 20% of at most 0.09": {"max_gap": 0.09, "top": 0.2},
        "The highest net benefit from 0.4 up with a gap of at most 0.03": {
            "max_gap": 0.03,
            "net_benefit_at": 0.4,
        },
    }
    for rule, given in rules.items():
        fp = FairPOT(**given).fit(scores, y, sensitive_features=group)
        content = FairnessReport(fp.table_, fp).content
        assert words.rule(content.dial, content.method) == rule


def test_what_gets_worse_is_marked(rows):
    scores, y, group = rows
    fp = FairPOT(1.0).fit(scores, y, sensitive_features=group)
    made = FairnessReport(fp.table_, fp)
    was, now = (
        [each.expected_calibration_error for each in made.content.dial.settings[k].groups]
        for k in (0, made.content.dial.chosen)
    )
    assert now[0] > was[0]
    assert now[1] == was[1]
    worse = f"F {was[0]:.3f} → {now[0]:.3f}, worse"
    assert re.search(rf'<b class="worse"><span data-k="\w+">{worse}</span></b>', made.to_html())
    before = words.calibration_cost(*2 * [made.content.dial.settings[0]], ())
    assert before == ("Calibration error: ", "", f"F {was[0]:.3f}, M {was[1]:.3f}.")


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_a_loss_of_auc_is_marked_where_chance_does_not_explain_it(lam):
    """The outcome is rare in F, whose scores are low: to move them up costs AUC. A strength of 0 costs nothing."""
    rng, group = np.random.default_rng(0), np.repeat(["F", "M"], 400)
    y = (rng.random(800) < np.where(group == "M", 0.5, 0.1)).astype(int)
    scores = rng.normal(y) - 1.5 * (group == "F")
    fp = FairPOT(lam, reference="M").fit(scores, y, sensitive_features=group)
    made = FairnessReport(fp.table_, fp)
    change = made.effect.changes.auc
    marked = re.search(r"AUC.{0,200}<b class=\"worse\"><span[^>]*>, worse", made.to_html()) is not None
    assert marked == (change.high < 0) == (lam == 1.0)


def test_every_sentence_is_used():
    folder = Path(figures.__file__).parent
    code = "".join(path.read_text() for path in (*folder.glob("*.py"), *folder.glob("*.html"), Path(words.__file__)))
    stems = ("card ", "traced ", "calibration note")
    names = ("help", "harm")
    code = re.sub(r'^    "[^"]+": ', "", code, flags=re.MULTILINE)  # where it is written does not count
    unused = [key for key in words.TEXT if not re.search(rf"[\"']{key}[\"']", code) and not key.startswith(stems)]
    assert [key for key in unused if key not in names] == []


def test_a_tiny_group_does_not_lead():
    rng = np.random.default_rng(31)
    group = np.repeat(["large", "other", "tiny"], [600, 600, 12])
    y = rng.integers(0, 2, len(group))
    score = rng.normal(y + 0.3 * (group == "large") - 4.0 * (group == "tiny"))
    made = FairnessReport(score_table(y, score, sensitive_features=group))
    audited = audit(y, score, sensitive_features=group)
    assert set(made.audit.ranking.widest.groups) == {"large", "other"}
    assert "tiny" not in made.audit.statement.pair or made.audit.statement.gap.low > 0
    assert made.audit.to_dict() == audited.to_dict()
    assert made.content.dial.settings[0].told.gap == audited.ranking.widest
    assert made.audit.ranking.small_groups == ("tiny",)
    assert "(few rows)" in made.to_html()
