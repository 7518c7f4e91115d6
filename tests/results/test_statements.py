"""What is said first: pair, direction, doubt and valence; who gains, who loses, and what is known of a repair."""

import numpy as np
import pandas as pd
import pytest

import fairpot
import oracles
from fairpot import FairPOT, LogitShift, audit, effect, score_table
from rows_cases import draw


def two_groups(n=1500, shift=0.6, seed=0, groups=("F", "M")):
    rng = np.random.default_rng(seed)
    y, group = rng.integers(0, 2, n), rng.choice(groups, n)
    lift = shift * np.searchsorted(groups, group) / max(len(groups) - 1, 1)
    return y, np.round(1 / (1 + np.exp(-rng.normal(y + lift))), 3), group


@pytest.mark.parametrize(("means", "said"), [(None, ""), ("help", ", which benefits M"), ("harm", ", which harms M")])
def test_the_statement_says_who_is_ranked_higher_and_whom_that_harms_only_if_told(means, said):
    y, score, sex = two_groups()
    found = audit(y, score, sensitive_features=sex, high_score_means=means)
    there, back = (oracles.xauc(y, score, sex, *pair, half=True) for pair in (("M", "F"), ("F", "M")))
    told = found.statement
    assert (told.state, told.pair, told.metric) == ("clear", ("M", "F"), "overall gap")
    assert float(told.gap) == pytest.approx(there - back, abs=1e-12)
    assert [float(told.xauc_higher), float(told.xauc_lower)] == pytest.approx([there, back], abs=1e-12)
    size = f"{there - back:.3f} (95% interval {told.gap.low:.3f} to {told.gap.high:.3f})"
    assert told.sentence == f"The score ranks M higher than F{said}: overall gap {size}."
    assert f"in {100 * there:.0f} of 100 pairs; the reverse (F over M) in {100 * back:.0f}." in told.meaning
    assert str(found).splitlines()[:3] == [told.text, told.meaning, told.next]
    assert found.to_dict()["statements"][0]["high_score_means"] == means
    assert found.reference == ("F" if means == "harm" else "M")


def test_groups_that_are_numbers_are_called_by_their_column_where_it_has_a_name():
    """In sentences and tables for people; the numbers keep the groups as they are."""
    y, score, sex = two_groups()
    black = pd.Series((sex == "M").astype(int), name="black")
    found = audit(y, score, sensitive_features=black, high_score_means="harm")
    assert found.statement.pair == (1, 0)
    assert found.statement.sentence.startswith("The score ranks black=1 higher than black=0, which harms black=1: ")
    assert found.to_dict()["statements"][0]["ranked_higher"] == 1
    plain = audit(y, score, sensitive_features=black.to_numpy()).statement
    assert plain.sentence.startswith("The score ranks 1 higher than 0: ")
    assert "<td>black=1</td><td>black=0</td>" in found._repr_html_()
    repair = FairPOT(max_gap=0.02).fit(score, y, sensitive_features=black, high_score_means="harm")
    told = effect(repair, score, y, sensitive_features=black)
    assert "scores in black=1 change" in told.sentences[1]
    assert "; no score in black=0 changes." in told.sentences[1]
    both = pd.DataFrame({"race": np.where(black, "B", "W"), "old": np.arange(len(y)) % 2})
    assert " / old=" in audit(y, score, sensitive_features=both).statement.sentence


def test_a_repair_that_overshoots_has_a_gap_below_zero():
    y, score, sex = two_groups(groups=("men", "women"))
    ends = np.array([score.min(), score.max()])
    maps = {"men": fairpot.ScoreMap(ends, ends + 0.3), "women": fairpot.ScoreMap.identity()}
    found = effect(maps, score, y, sensitive_features=sex)
    lifted = np.where(sex == "men", maps["men"](score), score)
    there, back = (oracles.xauc(y, lifted, sex, *pair, half=True) for pair in (("women", "men"), ("men", "women")))
    gap = next(row.after for row in found.rows() if row.metric == "overall gap")
    assert gap == pytest.approx(there - back)
    assert gap.low < there - back < gap.high < 0 < found.after.gap
    before = f"before {found.before.gap:.3f} (women over men)"
    assert found.sentences[0].startswith("After the repair the score ranks men higher than women: overall gap ")
    assert before in found.sentences[0]
    assert f"{gap:.3f} ({gap.low:.3f} to {gap.high:.3f})" in found._repr_html_()


def test_of_scores_counted_with_a_minus_a_high_rank_is_a_low_score():
    y, score, sex = two_groups()
    table = score_table(y, -score, sensitive_features=sex, lower_is_riskier=True, high_score_means="help")
    told = audit(table).statement
    assert told.sentence.startswith("The score ranks M as riskier (scored lower) than F, which harms M: ")
    assert audit(table).reference == "F"
    assert FairPOT(1.0).fit(table).reference_ == "F"
    moved = effect(FairPOT(1.0).fit(table), table)
    assert sum(each.up for each in moved.moves) > 0 == sum(each.down for each in moved.moves)


@pytest.mark.parametrize("groups", [("F", "M"), ("a", "b", "c", "d", "e", "f")])
def test_groups_by_coin_flip_have_no_clear_gap(groups):
    """Of 60 draws without a gap, the statement may claim one in 5%: more than 8 would be a chance of 0.2%."""
    claimed = 0
    for seed in range(60):
        y, score, group = two_groups(600, 0.0, seed, groups)
        told = audit(y, score, sensitive_features=group).statement
        claimed += told.clear
        assert told.clear <= (told.gap.low > 0)
        assert told.sentence.startswith(
            ("The score ranks", "Cannot tell", "No clear gap", "There is a gap, but a small")
        )
        assert ("A repair can make this gap smaller" in told.next) == told.clear
    assert claimed <= 8


def test_with_a_top_everything_speaks_of_the_top():
    y, score, sex = two_groups(4000)
    found = audit(y, score, sensitive_features=sex, top=[0.2, 0.5])
    assert [each.top for each in found.statements] == [0.2, None, 0.5]
    assert found.statement == found.statements[0]
    assert float(found.statement.gap) == float(found.tops[0].gap)
    assert "gap in the top 20%" in found.statement.sentence
    assert "In the top 20%, someone in " in found.statement.meaning
    for repair in ("all", "top"):
        fp = FairPOT(max_gap=0.1, top=0.5, repair=repair).fit(score, y, sensitive_features=sex)
        changed = effect(fp, score, y, sensitive_features=sex)
        assert changed.statement.top == 0.5
        assert changed.sentences[0].startswith("On the rows it was fitted on, the gap in the top 50% is ")
        assert any(said.startswith("AUC ") for said in changed.sentences)  # that of all rows
        by_rows = FairPOT(max_gap=0.1, top=2000, repair=repair).fit(score, y, sensitive_features=sex)
        said = effect(by_rows, score, y, sensitive_features=sex).sentences[0]
        assert said == changed.sentences[0].replace("in the top 50%", "among the 2,000 highest")


def test_what_was_not_measured_is_not_told():
    y, score, sex = two_groups(40)
    alone = audit(y, score, sensitive_features=sex, level=None).statement
    assert alone.state == "measured"
    assert alone.sentence.startswith("In these rows ")
    with pytest.warns(UserWarning, match="no rows with the outcome"):
        nobody = audit(np.where(sex == "F", 0, y), score, sensitive_features=sex).statement
    assert (nobody.state, nobody.pair, nobody.meaning) == ("not measured", (None, None), "")
    assert "No gap can be measured" in nobody.sentence
    turned = audit(two_groups()[0], -two_groups()[1], sensitive_features=two_groups()[2]).statements
    assert [each.state for each in turned] == ["backwards", "clear"]
    assert turned[0].next.startswith("Check which way the score runs: if a low score means high risk, say so")


@pytest.mark.parametrize("method", [FairPOT, LogitShift])
def test_where_a_high_score_harms_the_group_ranked_lowest_is_the_reference(method):
    y, score, group = two_groups(300, 1.0, groups=("a", "b", "c"))
    rows = {"y": y, "sensitive_features": group}
    lead = {
        g: sum(
            oracles.xauc(y, score, group, g, h, half=True) - oracles.xauc(y, score, group, h, g, half=True)
            for h in "abc"
            if h != g
        )
        for g in "abc"
    }
    highest, lowest = max(lead, key=lead.get), min(lead, key=lead.get)
    assert method(max_gap=0.1).fit(score, **rows).reference_ == highest
    assert method(max_gap=0.1).fit(score, **rows, high_score_means="help").reference_ == highest
    harm = method(max_gap=0.1).fit(score, **rows, high_score_means="harm")
    assert (harm.reference_, harm.fair_maps_.high_score_means_) == (lowest, "harm")
    assert method(max_gap=0.1, reference="b").fit(score, **rows, high_score_means="harm").reference_ == "b"
    counted = score_table(y, score, sensitive_features=group, high_score_means="harm")
    assert method(max_gap=0.1).fit(counted).maps_ == harm.maps_


def test_what_a_high_score_means_is_said_once(tmp_path):
    y, score, sex = two_groups()
    table = score_table(y, score, sensitive_features=sex, high_score_means="harm")
    with pytest.raises(ValueError, match="high_score_means='help' contradicts the rows"):
        FairPOT(1.0).fit(table, high_score_means="help")
    with pytest.raises(ValueError, match="contradicts the rows"):
        audit(table, high_score_means="help")
    with pytest.raises(ValueError, match="contradicts the rows"):
        table.merge(score_table(y, score, sensitive_features=sex, high_score_means="help"))
    with pytest.raises(ValueError, match="must be one of 'help', 'harm'"):
        FairPOT(1.0).fit(score, y, sensitive_features=sex, high_score_means="good")
    plain = score_table(y, score, sensitive_features=sex)
    assert plain.merge(table).high_score_means == table.merge(plain).high_score_means == "harm"
    FairPOT(1.0).fit(table).save(tmp_path / "map.json")
    loaded = fairpot.load(tmp_path / "map.json")
    assert loaded.high_score_means_ == "harm"
    assert effect(loaded, plain).before.high_score_means == "harm"
    with pytest.raises(ValueError, match="contradicts the rows"):
        effect(loaded, plain.meaning("help"))
    assert fairpot.compare(table, methods="FairPOT", cv=2).reference == "F"


@pytest.mark.parametrize("top", [None, 0.3])
def test_who_gains_against_counting_by_hand(top):
    y, score, sex = two_groups(2000, 1.0)
    rows = {"y": y, "sensitive_features": sex}
    fp = FairPOT(max_gap=0.25 if top else 0.05, top=top).fit(score, **rows, high_score_means="harm")
    found = effect(fp, score, **rows, threshold=None if top else [0.5, 0.7])
    after = fp.transform(score, sensitive_features=sex)
    for action in found.actions:
        for each in action.groups:
            own = sex == each.group
            for side, outcome, total in (("yes", 1, "positives"), ("no", 0, "negatives")):
                assert getattr(each, total) == (own & (y == outcome)).sum()
                for when, scores in (("before", score), ("after", after)):
                    at = action.threshold
                    if at is None:
                        at = np.sort(scores)[::-1][int(np.ceil(action.top * len(scores) - 1e-9)) - 1]
                    assert getattr(each, f"{side}_{when}") == (own & (y == outcome) & (scores >= at)).sum()
            more = each.after - each.before
            assert each.valence == (None if more == 0 else "gains" if more < 0 else "loses")


def test_without_a_threshold_the_top_tenth_is_counted_and_no_valence_told():
    y, score, sex = two_groups()
    found = effect(FairPOT(0.5).fit(score, y, sensitive_features=sex), score, y, sensitive_features=sex)
    [action] = found.actions
    assert (action.threshold, action.top) == (None, 0.1)
    assert {each.valence for each in action.groups} == {None}
    assert found.before.rates_asked == ()


def test_the_badge_says_what_is_known():
    y, score, sex = two_groups(3000)
    rows = {"y": y, "sensitive_features": sex}
    later = dict(zip(("y", "scores", "sensitive_features"), two_groups(800, seed=9)))
    plain, sure = FairPOT(None, max_gap=0.1), FairPOT(None, max_gap=0.1, confidence=0.9)
    for model in (plain, sure):
        model.fit(score, **rows)
    fitted = effect(plain, score, **rows)
    assert (fitted.statement.state, fitted.statement.badge) == ("fitted", "Not checked on new rows")
    assert (fitted.checked.same_rows, fitted.checked.rows) == (True, 3000)
    checked = effect(plain, **later)
    badges = {
        "missed": "Target missed on new rows",
        "kept": "Target kept on new rows",
        "unknown": "New rows cannot tell",
    }
    assert checked.statement.badge == badges[checked.statement.state]
    assert not checked.checked.same_rows
    certified = effect(sure, score, **rows).statement
    assert (certified.state, certified.tone) == ("certified", "good")
    assert certified.badge == "Certified: at most 0.1, 90% confidence"
    assert "with 90% confidence the overall gap on rows like these is at most 0.1" in certified.sentence
    assert effect(sure, **later).statement.state in ("kept", "unknown")
    assert effect({"F": fairpot.ScoreMap.identity(), "M": fairpot.ScoreMap.identity()}, score, **rows).checked is None


def test_a_statement_is_read_off_any_audits_numbers():
    y, score, group = two_groups(1200, 0.8, groups=("a", "b", "c"))
    found = audit(y, score, sensitive_features=group)
    told = found.statement
    assert (told.pairs, told.clear_pairs) == (3, 3)
    assert found.named(str.upper).statement.pair == ("C", "A")
    assert "the surest of 3 clear gaps among 3 pairs of groups" in told.sentence


@pytest.mark.parametrize(("means", "does"), [("help", "helps"), ("harm", "harms")])
def test_what_was_said_of_a_low_score_is_spelt_out(means, does):
    """A high credit score harms nobody as a rule: who says both reads what it comes to."""
    score, y, sex = draw(600, seed=7)
    turned = score_table(y, 1 - score, sensitive_features=sex, lower_is_riskier=True, high_score_means=means)
    assert f"As stated, a high score, that is low risk, {does} the person." in fairpot.audit(turned).statement.meaning
    plain = score_table(y, score, sensitive_features=sex, high_score_means=means)
    assert "As stated" not in fairpot.audit(plain).statement.meaning


def test_too_few_clusters_ask_for_clusters():
    score, y, sex = draw(600, seed=8)
    found = fairpot.audit(y, score, sensitive_features=sex, clusters=np.arange(600) % 4).statement
    assert found.next.startswith("Collect more clusters")
    with pytest.raises(fairpot.exceptions.InfeasibleRuleError, match="collect more clusters of that group"):
        fairpot.FairPOT(max_gap=0.1, confidence=0.9).fit(score, y, sensitive_features=sex, clusters=np.arange(600) % 4)
