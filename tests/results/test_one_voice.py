"""One number has one interval, one scale and one sentence, wherever it is shown."""

import dataclasses
import itertools
import json
import re

import jsonschema
import numpy as np
import pytest

import fairpot
from fairpot import FairPOT, audit, effect, score_table
from fairpot.inference import Estimate, confidence_interval
from fairpot.results import rank
from fairpot.results.audit import Audit
from fairpot.results.effect import Effect
from fairpot.results.kinds import fields_of, kind_of, renamed, rows_of, to_dict
from schemas import schema_of

pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.FairpotWarning")


def draw(seed):
    """Rows with two to five groups, ties or not, weights or clusters or none, a top or none."""
    rng = np.random.default_rng(seed)
    n, many = int(rng.choice([200, 700])), int(rng.integers(2, 6))
    group, y = rng.choice(list("abcde")[:many], n), rng.integers(0, 2, n)
    score = rng.normal(y + rng.choice([0.0, 0.5]) * (group == "a"))
    score = [score, np.round(score, 1), np.round(600 + 40 * score), 1 / (1 + np.exp(-score))][int(rng.integers(4))]
    rows = {"sensitive_features": group}
    kind = int(rng.integers(4))
    rows |= [{}, {"sample_weight": rng.integers(1, 4, n)}, {"sample_weight": rng.gamma(2, 1, n) + 0.1}, {}][kind]
    rows |= {"clusters": rng.integers(0, n // 3, n)} if kind == 3 else {}
    top = {"top": 0.4, "top_of": str(rng.choice(["all", "group"]))} if rng.random() < 0.5 else {}
    return y, score, rows, top


def ends(found):
    return [round(each, 12) for each in (float(found), found.low, found.high)]


@pytest.mark.parametrize("seed", range(24))
def test_the_gap_that_is_told_has_one_interval_everywhere(seed):
    y, score, rows, top = draw(seed)
    found = audit(y, score, **rows, **top)
    told = found.statement
    first = next(each for each in found.to_dict()["statements"] if each["ranked_higher"] is not None)
    if told.gap.reason is not None:
        assert (told.state, first["gap_low"]) == ("too few", None)
        return
    pair = found.told.pair(*told.pair)
    assert ends(pair.signed_gap) == ends(told.gap)
    written = f"{told.gap:.3f} (95% interval {told.gap.low:.3f} to {told.gap.high:.3f})"
    written = written.replace("-0.000", "0.000")
    assert (written in told.sentence) == (told.state == "clear" or (told.state == "small" and told.clear_pairs > 0))
    assert written in str(found) or told.state in ("too few", "small")
    assert written.replace("95% interval ", "") in found._repr_html_()
    assert [round(first[f"gap{end}"], 12) for end in ("", "_low", "_high")] == ends(told.gap)
    if len(found.ranking.gaps) == 1:
        alone = confidence_interval("xauc_gap", y, score, **rows, **top)
        np.testing.assert_allclose(ends(alone), ends(told.gap), atol=1e-9)
        judged = found.verdicts(0.1)[-1].interval
        np.testing.assert_allclose(ends(judged), ends(told.gap), atol=1e-9)
        if not top:
            row = found.rows("pairs")[0]
            seen = [row["signed_gap_low"], row["signed_gap_high"]]
            assert sorted(np.abs(seen)) == pytest.approx(sorted(np.abs([told.gap.low, told.gap.high])))
    assert told.clear <= (told.gap.low > 0)


@pytest.mark.parametrize("seed", range(12))
def test_scores_of_which_a_low_one_is_risky_are_shown_as_they_are(seed):
    y, score, rows, top = draw(seed)
    at = float(np.quantile(score, 0.7))
    up = audit(y, score, **rows, **top, threshold=at)
    down = audit(y, -score, **rows, **top, threshold=-at, lower_is_riskier=True)
    one, other = up.to_dict(), down.to_dict()

    def scores(tree, name=""):
        if isinstance(tree, dict):
            for key, value in tree.items():
                yield from scores(value, key)
        elif isinstance(tree, list) and name in ("score_range", "starts"):
            yield tree
        elif isinstance(tree, list):
            for value in tree:
                yield from scores(value, name)
        elif name in ("threshold", "start") and tree is not None:
            yield [tree]

    first, second = list(scores(one)), list(scores(other))
    assert len(first) == len(second) > 4
    for mine, theirs in zip(first, second):
        assert sorted(mine) == pytest.approx(sorted(-each for each in theirs))
    assert up.gap == down.gap
    assert {note.kind for note in up.notes} - {"not probabilities"} <= {note.kind for note in down.notes}
    for note in down.notes:
        if note.kind == "not probabilities":
            assert [note.value, note.other] == [(-score).min(), (-score).max()]


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a"), (1, 0)])
def test_equal_groups_are_told_as_equal(names):
    score, y = np.tile([0.1, 0.2, 0.3, 0.4], 60), np.tile([0, 1, 0, 1], 60)
    group = np.repeat(np.array(names, dtype=object), 120)
    for level in (0.95, None):
        found = audit(y, score, sensitive_features=group, level=level)
        assert found.gap == 0
        first, second = sorted(names)
        assert {first, second} == set(found.statement.pair)
        wanted = (
            "Cannot tell whether there is a gap"
            if level
            else f"In these rows the score ranks {first} and {second} equally"
        )
        assert found.statement.sentence.startswith(wanted)
        assert "higher" not in found.statement.sentence


def test_a_small_group_leads_only_if_its_gap_is_sure():
    rng = np.random.default_rng(3)
    sizes = {"k": 700, "l": 600, "tiny": 40, "rare": 36}
    group = np.repeat(list(sizes), list(sizes.values()))
    y = (rng.random(len(group)) < 0.4).astype(int)
    lead = np.select([group == "l", group == "tiny", group == "rare"], [0.5, 3.0, 2.0])
    found = audit(y, rng.normal(y + lead), sensitive_features=group, top=0.4)
    assert set(found.ranking.small_groups) == {"tiny", "rare"}
    for each in (found.ranking, *found.tops):
        assert {"tiny", "rare"} <= set(each.small_groups)
        assert set(each.widest.groups) == {"k", "l"}
        assert each.gap > each.widest  # the largest gap of all pairs is there as well
    all_rows = found.statements[1]
    assert all_rows.pair[0] == "tiny"
    assert all(all_rows.gap.low >= pair.signed_gap.low for pair in found.ranking.measured if pair.clear)
    [thin] = [each for each in all_rows.caveats if each.kind == "thin"]
    assert (thin.thin.group, thin.thin.rows) == ("tiny", min(cell.rows for cell in found.ranking.group("tiny").cells))
    assert f"It stands on only {thin.thin.rows} rows with" in all_rows.text


def test_the_surest_gap_leads_and_a_larger_one_is_named_beside_it():
    """Where the largest gap may be chance, a clear one is said first, and the larger one beside it."""
    rng = np.random.default_rng(32)
    group = np.repeat(["A", "B", "C", "tiny"], [3000, 3000, 140, 40])
    y = (rng.random(len(group)) < 0.4).astype(int)
    score = rng.normal(y + np.select([group == "B", group == "C"], [-0.15, -0.25], -0.1))
    found = audit(y, score, sensitive_features=group)
    assert found.statement.pair == ("A", "B")
    assert found.statement.sentence.endswith(", the only clear gap of 6 pairs of groups.")
    [larger] = [each for each in found.statement.caveats if each.kind == "larger"]
    assert larger.gap == found.gap > found.statement.gap
    assert f"A larger gap was measured, {larger.groups[0]} over {larger.groups[1]} {larger.gap:.3f} (95%" in str(found)
    for pair in found.ranking.gaps:  # the intervals hold for all pairs at once: none is narrower than that of two alone
        two = np.isin(group, [pair.first, pair.second])
        alone = audit(y[two], score[two], sensitive_features=group[two], reference=pair.first).ranking.gaps[0]
        assert pair.signed_gap.low <= alone.signed_gap.low < alone.signed_gap.high <= pair.signed_gap.high
        assert pair.at_most == pytest.approx(alone.at_most, abs=1e-12)
        assert pair.at_least <= alone.at_least


def test_a_repair_says_that_it_moves_a_group_too_small_to_compare():
    rng = np.random.default_rng(4)
    group = np.repeat(["k", "l", "tiny"], [700, 600, 40])
    y = (rng.random(len(group)) < 0.4).astype(int)
    score = rng.normal(y + 0.5 * (group == "l"))
    rows = {"y": y, "sensitive_features": group}
    found = effect(FairPOT(1.0).fit(score, **rows), score, **rows)
    [note] = [note for note in found.notes if note.kind == "small and moved"]
    assert (note.group, note.other) == ("tiny", 40)
    kept = effect(FairPOT(1.0).fit(score, **rows, min_group=100), score, **rows)
    assert not [note for note in kept.notes if note.kind == "small and moved"]


def test_the_answer_tells_the_whole_list_beside_its_top():
    """The top shows nothing, all rows a clear gap: both are said, and the next step is not to do nothing."""
    rng = np.random.default_rng(1)
    y, group = rng.integers(0, 2, 3000), rng.choice(["a", "b"], 3000)
    score = rng.normal(y + 0.5 * (group == "a"))
    score[:60] = 9 + rng.random(60)
    found = audit(y, score, sensitive_features=group, top=0.02)
    assert [each.state for each in found.statements] == ["too few", "clear"]
    assert found.answer[0].startswith("Cannot tell whether there is a gap in the top 2%: ")
    assert any(said.startswith("The score ranks a higher than b: overall gap") for said in found.answer[1:])
    assert len(found.answer) <= 8


@pytest.mark.parametrize("factor", [1.9, 2.1])
def test_lost_calibration_is_judged_once(factor):
    """By one factor, on the audit's own numbers."""
    score = np.repeat([0.22, 0.62], 200)
    y = np.r_[np.arange(200) % 10 < 2, np.arange(200) % 10 < 6].astype(int)
    rows = {"scores": np.tile(score, 2), "y": np.tile(y, 2), "sensitive_features": np.repeat(["a", "b"], 400)}
    off = 0.02 * factor
    maps = {"a": fairpot.ScoreMap.identity(), "b": fairpot.ScoreMap([0.22, 0.62], [0.2 + off, 0.6 + off])}
    found = effect(maps, **rows)
    lost = [note for note in found.notes if note.kind == "calibration lost"]
    assert [note.group for note in lost] == (["b"] if factor > 2 else [])
    for note in lost:
        errors = [
            each.ranking.group("b").calibration.expected_calibration_error for each in (found.before, found.after)
        ]
        assert [note.value, note.other] == errors


def every_hint(cls, seen=None):
    """Walk through the types of a record's fields, records inside it included."""
    seen = set() if seen is None else seen
    for hint in fields_of(cls).values():
        kind = kind_of(hint)
        while kind.name in ("maybe", "many", "inline"):
            hint, kind = kind.inner, kind_of(kind.inner)
        yield kind.name
        if kind.name == "record" and kind.inner not in seen:
            seen.add(kind.inner)
            yield from every_hint(kind.inner, seen)


def test_every_kind_of_field_is_walked():
    assert {"group", "score", "range", "share", "count", "estimate", "record", "plain", "each"} <= set(
        every_hint(Effect)
    )


def test_groups_are_renamed_wherever_they_stand():
    y, score, rows, _ = draw(5)
    given = {"scores": score, "y": y, **rows}
    model = FairPOT(0.7).fit(**given)
    found = effect(model, **given, top=0.3, threshold=float(np.median(score)))
    told = to_dict(renamed(found, lambda group: f"<{group}>"))
    assert re.findall(r'"([abcde])"', json.dumps(told)) == []
    assert json.dumps(told).count('"<a>"') == json.dumps(found.to_dict()).count('"a"')


@pytest.mark.parametrize("seed", range(8))
def test_documents_are_as_their_types_say(seed):
    y, score, rows, top = draw(seed)
    found = audit(y, score, **rows, **top, threshold=float(np.median(score)))
    given = {"scores": score, "y": y, **rows}
    changed = effect(FairPOT(0.7).fit(**given), **given)
    defs = {}
    for cls in (Audit, Effect):
        schema_of(cls, defs)
    defs |= {name: {"type": "object"} for name in ("Changes", "estimate") if name not in defs}
    for result in (found, changed):
        document = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        schema = {"$ref": f"#/$defs/{type(result).__name__}", "$defs": defs}
        jsonschema.Draft202012Validator(schema).validate(document)
        for broken in ({**document, "extra": 1}, {k: v for k, v in document.items() if k != "statements"}):
            with pytest.raises(jsonschema.ValidationError):
                jsonschema.Draft202012Validator(schema).validate(broken)


def test_a_field_that_is_added_to_a_record_is_in_documents_and_frames():
    @dataclasses.dataclass(frozen=True)
    class Wider(type(rank(score_table([0, 1] * 9, range(18), sensitive_features=["a", "b", "b"] * 6)).groups[0])):
        spread: Estimate | None = None

    table = score_table([0, 1] * 9, range(18), sensitive_features=["a", "b", "b"] * 6)
    group = rank(table).groups[0]
    known = {each.name: getattr(group, each.name) for each in dataclasses.fields(group)}
    wider = Wider(**known, spread=Estimate("spread", 0.5, 0.1, 0.4, 0.6))
    assert to_dict(wider)["spread_low"] == rows_of([wider])[0]["spread_low"] == 0.4


def test_pairs_are_the_same_seen_from_either_side():
    y, score, rows, _ = draw(2)
    found = audit(y, score, **rows).ranking
    for first, second in itertools.permutations([each.group for each in found.groups], 2):
        one, other = found.pair(first, second), found.pair(second, first)
        if one.signed_gap is not None:
            assert one.signed_gap == -other.signed_gap
            assert (one.signed_gap.groups, one.signed_gap.signed) == ((first, second), -other.signed_gap.signed)
            assert np.array_equal(one.signed_gap.low, -other.signed_gap.high, equal_nan=True)
        assert (one.xauc_first, one.xauc_second) == (other.xauc_second, other.xauc_first)
