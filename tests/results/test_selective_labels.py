"""Outcomes that are known of some people only: what audits, repairs and reports say of the others."""

import numpy as np
import pandas as pd
import pytest

import fairpot


@pytest.fixture(scope="module")
def selected():
    """People whose outcome is known below a score of 0.4 only, and by chance of some above."""
    rng, n = np.random.default_rng(0), 3000
    sex = rng.choice(["F", "M"], n)
    risk = np.round(rng.beta(2, 3, n) * np.where(sex == "M", 1.0, 0.75), 3)
    truth = (rng.random(n) < risk).astype(float)
    known = (risk < 0.4) | (rng.random(n) < 0.3)
    frame = pd.DataFrame({"score": risk, "label": np.where(known, truth, np.nan), "group": sex, "w": rng.random(n)})
    return frame, truth


GIVEN = {"score": "score", "label": "label", "group": "group"}


def ways(frame, folder, **more):
    """The same rows as columns, as a frame and as files."""
    path = folder / "rows.csv"
    frame.to_csv(path, index=False)
    frame.to_parquet(folder / "rows.parquet", index=False)
    weight = {"sample_weight": frame["w"]} if "weight" in more else {}
    columns = {"sensitive_features": frame["group"], **weight, **{k: v for k, v in more.items() if k != "weight"}}
    yield (frame["label"], frame["score"]), columns
    for rows in (frame, path, folder / "rows.parquet"):
        yield (rows,), GIVEN | more


@pytest.mark.parametrize("more", [{}, {"weight": "w"}, {"lower_is_riskier": True}])
@pytest.mark.filterwarnings("ignore")
def test_every_way_in_compares_the_scores_of_rows_without_outcomes(selected, tmp_path, more):
    frame, _ = selected
    gone, found = frame["label"].isna(), []
    for rows, said in ways(frame, tmp_path, **more):
        found.append(fairpot.audit(*rows, **said, drop_missing=True))
    for audit in found:
        assert audit.missing_outcomes == found[0].missing_outcomes
        for each in audit.missing_outcomes.groups:
            own = frame["group"] == each.group
            assert each.rows == (gone & own).sum()
            if not more:
                one, other = frame["score"][gone & own], frame["score"][~gone & own]
                share = np.mean((one.values[:, None] > other.values) + 0.5 * (one.values[:, None] == other.values))
                assert each.higher == pytest.approx(share)
            assert each.higher.low > 0.5
        assert "Outcomes are missing more often at high scores: this gap is of those with outcomes." in str(audit)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("alone", ["F", "nobody", "X"])
def test_rows_without_outcomes_may_be_of_one_group_weigh_nothing_or_be_of_a_group_of_their_own(
    selected, tmp_path, alone
):
    frame, truth = selected
    gone = frame["label"].isna() & (frame["group"] == "F")
    rows = frame.assign(label=np.where(gone, np.nan, truth), w=np.where(gone & (alone == "nobody"), 0.0, frame["w"]))
    rows.loc[np.flatnonzero(gone)[: 5 if alone == "F" else None], "group"] = "X"
    shown = []
    for given, said in ways(rows, tmp_path, weight="w"):
        shown.append(fairpot.audit(*given, **said, drop_missing=True))
    for audit in shown:
        assert audit.missing_outcomes == shown[0].missing_outcomes
        if alone == "F":
            assert [each.group for each in audit.missing_outcomes.groups] == ["F"]
            assert audit.missing_outcomes.lowest < audit.missing_outcomes.highest
        else:
            assert audit.missing_outcomes is None
            assert "utcomes are missing" not in str(audit)


@pytest.mark.filterwarnings("ignore")
def test_bounds_hold_the_true_gap(selected):
    frame, truth = selected
    found = fairpot.audit(frame, **GIVEN, drop_missing=True)
    whole = fairpot.audit(truth, frame["score"], sensitive_features=frame["group"])
    pair = next(each for each in whole.ranking.gaps).ranked
    missing = found.missing_outcomes
    assert missing.pair == (pair.first, pair.second)
    assert missing.lowest < found.gap < whole.gap < missing.highest
    assert "these are bounds, not an interval" in str(found)


@pytest.mark.filterwarnings("ignore")
def test_outcomes_missing_by_chance_or_at_low_scores_are_told_apart(selected):
    frame, truth = selected
    chance = np.random.default_rng(1).random(len(frame)) < 0.3
    low = frame["score"] < 0.3
    said = {
        "by chance": (chance, "Their scores do not visibly differ"),
        "low": (low, "missing more often at low scores"),
        "both": (np.where(frame["group"] == "F", low, ~low), "at high scores in some groups and at low ones in others"),
    }
    for gone, text in said.values():
        rows = frame.assign(label=np.where(gone & (np.arange(len(frame)) % 3 > 0), np.nan, truth))
        assert text in str(fairpot.audit(rows, **GIVEN, drop_missing=True))
    none = fairpot.audit(frame.assign(label=truth), **GIVEN, drop_missing=True)
    assert none.missing_outcomes is None


@pytest.mark.filterwarnings("ignore")
def test_a_repair_and_its_report_say_it_and_maps_keep_nothing_of_these_rows(selected):
    frame, _ = selected
    table = fairpot.score_table(frame, **GIVEN, drop_missing=True)
    repair = fairpot.LogitShift(max_gap=0.05).fit(table)
    assert repair.table_.unlabelled is None
    effect = fairpot.effect(repair, table)
    said = "Outcomes are missing more often at high scores"
    assert said in str(effect.before)
    assert said not in str(effect.after)


def test_the_error_says_what_dropping_them_means(selected):
    frame, _ = selected
    with pytest.raises(ValueError, match="The gap is then of those with outcomes: https"):
        fairpot.audit(frame["label"], frame["score"], sensitive_features=frame["group"])
