"""What a model file reveals: no hash to try outcomes against, no counts of a few, and in private nobody's score."""

import itertools
import json
import re

import jsonschema
import numpy as np
import pytest

import fairpot
import modelfile_cases as cases
from fairpot import FairPOT, ModelFileError, modelfile
from fairpot.counts import run_means
from fairpot.exceptions import SmallGroupWarning
from fairpot.methods import LogitShift, OptimalMerge, WassersteinRepair
from fairpot.metrics import auc
from fairpot.modelfile.content import describe_table
from fairpot.table import ScoreTable

VALIDATOR = jsonschema.Draft202012Validator(modelfile.schema())
METHODS = {
    "FairPOT": FairPOT(0.4, reference="M"),
    "FairPOT, whole": FairPOT(1.0, reference="M"),
    "FairPOT, monotone": FairPOT(0.6, reference="F", monotone=True),
    "FairPOT, top": FairPOT(0.7, top=0.5, repair="top", reference="M"),
    "FairPOT, top, monotone": FairPOT(0.7, top=0.5, repair="top", reference="M", monotone=True),
    "Wasserstein": WassersteinRepair(0.8),
    "OptimalMerge": OptimalMerge(),
    "LogitShift": LogitShift(),
}


def people(n=400, seed=0, scale=1.0, shift=0.0):
    data = cases.make_data(seed, ("F", "M"), n)
    return data._replace(scores=data.scores * scale + shift)


def with_a_few(size, seed=0):
    """People of two groups, and so many of a third."""
    data = people(seed=seed)
    rng = np.random.default_rng(seed)
    return cases.Data(
        np.concatenate((data.scores, rng.uniform(0.1, 0.9, size))),
        np.concatenate((data.y, np.arange(size) % 2)),
        np.concatenate((data.group, np.full(size, "few", dtype=object))),
    )


def saved(model, path, **options):
    model.save(path, overwrite=True, **options)
    content = json.loads(path.read_text(encoding="utf-8"))
    VALIDATOR.validate(content)
    return content


def numbers_in(content):
    if isinstance(content, dict):
        content = list(content.values())
    if isinstance(content, list):
        return [number for each in content for number in numbers_in(each)]
    return [content] if isinstance(content, float) else []


def test_outcomes_cannot_be_tried_against_the_file(tmp_path):
    """Known scores, unknown outcomes: every guess gives the same file, so that none can be confirmed."""
    scores, group = np.arange(24) / 24, np.array(["F", "M"] * 12)
    written = set()
    for guess in itertools.islice(itertools.product((0, 1), repeat=6), 20):
        y = np.array([*guess, *([0, 1] * 9)])
        FairPOT(0.5, reference="M").fit(scores, y, sensitive_features=group).save(tmp_path / "m", overwrite=True)
        written.add((tmp_path / "m").read_bytes())
    assert len(written) == 1


@pytest.mark.parametrize("size", [1, 2, 9, 10])
def test_counts_of_a_few_are_left_out(tmp_path, size):
    data = with_a_few(size)
    content = saved(data.fit(FairPOT(0.0, reference="M")), tmp_path / "m")
    counts = {each["group"]: each["counts"] for each in content["fitted_on"]["groups"]}
    assert counts["F"]["rows"] == (data.group == "F").sum()
    if size == 10:
        assert counts["few"]["rows"] == 10
        assert counts["few"]["positives"] is None  # 5 and 5
        assert content["fitted_on"]["rows"] == len(data.scores)
        return
    assert set(counts["few"].values()) == {None}
    assert content["fitted_on"]["rows"] is None  # or it would be the difference
    low, high = content["fitted_on"]["score_range"]
    assert low <= data.scores.min() <= data.scores.max() <= high
    assert not {low, high} & set(data.scores)
    text = (tmp_path / "m").read_text()
    assert not [score for score in data.scores[data.group == "few"] if repr(float(score)) in text]


def test_weights_do_not_hide_that_there_are_few():
    table = fairpot.score_table(
        [0, 1, *([0, 1] * 20)],
        [0.1, 0.9, *np.arange(40) / 40],
        sensitive_features=["few"] * 2 + ["M"] * 40,
        sample_weight=[500.5, 499.25, *([1.5] * 40)],
    )
    counts = {each.group: each.counts for each in describe_table(table).groups}
    assert counts["few"].rows is None
    assert counts["M"].rows == 40  # rows, not what they weigh


def test_few_of_one_outcome():
    y = np.zeros(60, dtype=np.int8)
    y[:3] = 1
    counts = describe_table(ScoreTable.from_rows(np.arange(60) / 60, y)).groups[0].counts
    assert (counts.rows, counts.positives, counts.negatives) == (60, None, None)


@pytest.mark.parametrize(
    ("model", "rows", "told"),
    [
        (FairPOT(0.4, reference="M"), {}, "rows (or clusters) of 'few' make up"),
        (FairPOT(0.4, reference="few"), {}, "rows (or clusters) of 'few' make up"),
        (FairPOT(0.4, reference="M"), {"min_group": 10}, None),
        (FairPOT(0.0, reference="M"), {}, None),
        (FairPOT(0.4, reference="M"), {"groups": ["F", "M"]}, None),
        (
            FairPOT(0.01, reference="M"),
            {"groups": ["F", "M"]},
            "rows (or clusters) of 'F' make up",
        ),  # two of two hundred move
        (WassersteinRepair(t=1), {}, "rows (or clusters) of 'few' make up"),
        (LogitShift(0.3, reference="M"), {}, None),
    ],
    ids=repr,
)
def test_a_warning_where_a_few_can_be_seen(tmp_path, model, rows, told, recwarn):
    with_a_few(3).fit(model, **rows)
    recwarn.clear()
    if told is None:
        model.save(tmp_path / "m")
        assert not [each for each in recwarn if issubclass(each.category, SmallGroupWarning)]
        model.save(tmp_path / "p", private=True)
        return
    with pytest.warns(SmallGroupWarning, match=f"(?s){re.escape(told)}.*sees their scores.*Hint: private"):
        model.save(tmp_path / "m")
    with pytest.raises(ModelFileError, match=f"(?s){re.escape(told)}.*also if they are rounded.*Hint: min_group=10"):
        model.save(tmp_path / "p", private=True)


def test_a_loaded_model_warns_too(tmp_path):
    with_a_few(3).fit(FairPOT(0.4, reference="M")).save(tmp_path / "m")
    with pytest.warns(SmallGroupWarning, match="'few'"):
        fairpot.load(tmp_path / "m").save(tmp_path / "again")


def test_knots_only_where_they_are_needed(tmp_path):
    data = people()
    for each in saved(data.fit(LogitShift()), tmp_path / "m")["maps"]:
        assert not each["map"].get("knots")
    coarse = people(n=2000)
    coarse = coarse._replace(scores=np.where(coarse.group == "M", coarse.scores.round(1), coarse.scores))
    model = coarse.fit(FairPOT(1.0, reference="M"))
    [moved] = [each["map"] for each in saved(model, tmp_path / "m")["maps"] if each["group"] == "F"]
    assert len(moved["knots"]) < 100 < len(model.maps_["F"].knots)  # nearly all of it is flat
    x = np.concatenate((np.random.default_rng(0).uniform(-0.5, 1.5, 5000), model.maps_["F"].knots))
    assert fairpot.load(tmp_path / "m").maps_["F"](x).tobytes() == model.maps_["F"](x).tobytes()


@pytest.mark.parametrize("scale", [(1.0, 0.0), (100.0, 0.0), (3e-7, 5.0), (4e4, -2e4)], ids=str)
@pytest.mark.parametrize("name", METHODS)
def test_private_maps(tmp_path, name, scale):
    data = people(scale=scale[0], shift=scale[1])
    model = data.fit(METHODS[name])
    content = saved(model, tmp_path / "m", private=True)
    loaded = fairpot.load(tmp_path / "m")
    error, step = loaded.private_["largest_error"], loaded.private_["step"]
    assert scale[0] / 4000 < step < scale[0] / 250
    probes = np.concatenate((np.random.default_rng(1).uniform(-0.3, 1.3, 20_000) * scale[0] + scale[1], data.scores))
    for group, full in model.maps_.items():
        differences = np.abs(loaded.maps_[group](probes) - full(probes))
        assert differences.max() <= error + 1e-9 * scale[0]
        assert np.median(differences[-len(data.scores) :]) <= 0.012 * scale[0]
    people_s = {*data.scores[np.abs(data.scores / step - np.rint(data.scores / step)) > 1e-6].tolist()}
    assert len(people_s) > 200
    assert not people_s & set(numbers_in(content))
    assert len((tmp_path / "m").read_bytes()) < 12_000
    loaded.save(tmp_path / "again", private=True)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def draw(rng, size):
    group, y = np.repeat(["F", "M"], size), rng.integers(0, 2, 2 * size)
    y[[0, 1, size, size + 1]] = [0, 1, 0, 1]
    return cases.Data(rng.beta(2 + y, 3) * np.where(group == "F", 0.8, 1.0), y, group)


def published(content):
    """Every number of the maps and thresholds of a file."""
    maps = [*(each["map"] for each in content["maps"]), content.get("then")]
    return np.array(numbers_in([content["thresholds"], *maps]))


@pytest.mark.parametrize("size", [10, 12, 20, 100, 1000])
def test_breakpoints_do_not_give_away_who_was_there(size):
    """The attack: call a score somebody's if it is within a step of a number in the file.

    It finds no more of the people the map was fitted on than of others from the same population. Before knots stood
    for ten people it found 600 of 1,200 (and 57 of others) for FairPOT on groups of ten.
    """
    inside = outside = 0
    for name in ("FairPOT, whole", "Wasserstein", *(["FairPOT, monotone"] if size > 20 else [])):
        for seed in range({10: 40, 12: 40, 20: 30, 100: 8, 1000: 2}[size]):
            rng = np.random.default_rng(seed)
            there, others = draw(rng, size), draw(rng, size)
            content = there.fit(METHODS[name]).fair_maps_.private_content().to_json()
            found = published(content)[:, None]
            reach = content["private"]["step"] * 1.000001
            for data in (there, others):
                hits = int((np.abs(data.scores - found).min(axis=0) <= reach).sum())
                inside, outside = (inside + hits, outside) if data is there else (inside, outside + hits)
    assert outside > 20
    assert inside - outside <= 3 * np.sqrt(inside + outside)


def test_probabilities_do_not_give_away_who_is_first_and_last():
    """The map to probabilities ended at the lowest and the highest new score: two people of every file."""
    inside = 0
    for seed in range(12):
        there = draw(np.random.default_rng(seed), 12)
        model = there.fit(FairPOT(1.0, reference="M", keep="probabilities"))
        content = model.fair_maps_.private_content().to_json()
        new = np.sort(
            FairPOT(1.0, reference="M")
            .fit(*there[:2], sensitive_features=there.group)
            .transform(there.scores, sensitive_features=there.group)
        )
        found = np.array(content["then"]["knots"])[:, None]
        inside += int((np.abs(new[[0, -1]] - found).min(axis=0) <= 2 * content["private"]["step"]).sum())
    assert inside <= 4  # of 24, all of which were found


@pytest.mark.parametrize("name", ["FairPOT, whole", "FairPOT", "Wasserstein"])
def test_each_number_stands_for_ten_people(name):
    """Move one person as far as their neighbours allow: no number of the file follows by more than a tenth of it."""
    place = np.sort(np.concatenate((np.arange(30) / 30, np.arange(30) / 30 + 0.02)))
    data = cases.Data(place, np.arange(60) % 3 == 0, np.array(["F", "M"] * 30))
    whole = data.fit(METHODS[name]).fair_maps_.private_content().to_json()
    step, before, compared = whole["private"]["step"], published(whole), 0
    for i in range(1, 59):
        moved = data.scores.copy()
        by = (moved[i + 1] - moved[i]) * 0.95
        moved[i] += by
        after = published(data._replace(scores=moved).fit(METHODS[name]).fair_maps_.private_content().to_json())
        if len(after) == len(before):
            compared += 1
            assert np.abs(after - before).max() <= by / 10 + 1.001 * step
    assert compared > 20


@pytest.mark.parametrize("clusters", [False, True])
@pytest.mark.parametrize("weights", [None, "whole", "real", "one is all"])
@pytest.mark.parametrize("digits", [1, 2, None])
def test_no_run_has_fewer_than_ten_rows(digits, weights, clusters):
    """Counted row by row, whatever the rows weigh and however many share a score or belong to one person."""
    rng = np.random.default_rng([digits or 9, len(weights or ""), clusters])
    for _ in range(40):
        n = int(rng.integers(10, 120))
        scores = rng.normal(size=n) if digits is None else rng.normal(size=n).round(digits)
        weight = {
            None: None,
            "whole": rng.integers(1, 5, n),
            "real": rng.uniform(0.1, 3, n),
            "one is all": np.where(np.arange(n) == 3, 37_000, 1),
        }[weights]
        who = rng.integers(0, max(n // 3, 11), n) if clusters else None
        table = fairpot.score_table(rng.integers(0, 2, n), scores, sample_weight=weight, clusters=who)
        cuts = [] if rng.random() < 0.5 else [float(rng.choice(scores))]
        means = run_means(table.counts[0], 10, cuts)
        if means is None:
            after = scores >= cuts[0]
            assert (len(set(who[after])) if clusters else after.sum()) < 10
            continue
        run = means[np.searchsorted(table.counts[0].score, scores)]
        assert (np.diff(run[np.argsort(scores)]) >= 0).all()
        for rows in (run == value for value in np.unique(run)):
            alone = rows.all()
            assert alone or rows.sum() >= 10
            assert alone or not clusters or len(set(who[rows])) >= 10
            assert scores[rows].min() <= run[rows][0] <= scores[rows].max()
            if weights is None and not clusters:
                assert run[rows][0] == pytest.approx(scores[rows].mean(), abs=1e-12)


def test_runs_end_where_the_moved_part_begins():
    table = fairpot.score_table([0, 1] * 30, range(60))
    means = run_means(table.counts[0], 10, [34.0])
    assert [len(set(means[:34])), len(set(means[34:]))] == [3, 2]
    assert not set(means[:34]) & set(means[34:])
    assert run_means(table.counts[0], 10, [55.0]) is None  # five rows after it
    assert len(set(run_means(table.counts[0], 10, [5.0]))) == 6  # five before it join those after it


NOTHING_ELSE = {
    "FairPOT, whole": (FairPOT(1.0, reference="c"), "whole"),
    "FairPOT": (FairPOT(0.4, reference="c"), None),
    "FairPOT, monotone": (FairPOT(0.6, reference="a", monotone=True), None),
    "FairPOT, probabilities": (FairPOT(1.0, reference="c", keep="probabilities"), "whole"),
    "Wasserstein": (WassersteinRepair(0.8), "whole"),
    "OptimalMerge": (OptimalMerge(1.3, reference="c"), "whole"),
}


@pytest.mark.parametrize("name", NOTHING_ELSE)
def test_the_file_knows_the_means_of_ten_rows_and_nothing_else(name):
    """Change the scores of most people and keep the means of their runs: the file stays the same, byte for byte.

    One row in each group weighs 37,000, and some rows of a run share a score.
    """
    model, weights = NOTHING_ELSE[name]
    rng = np.random.default_rng(5)
    size, names = 60, ("a", "b", "c")
    group, y = np.repeat(names, size), rng.integers(0, 2, 3 * size)
    scores = np.concatenate([np.sort(rng.beta(2 + k, 3, size)) for k in range(3)])
    scores.reshape(-1, 10)[:, 2] = scores.reshape(-1, 10)[:, 1]
    weight = rng.integers(1, 9, 3 * size) if weights == "whole" else None
    if weight is not None:
        weight[[14, size + 25, 2 * size + 35]] = 37_000
    files = []
    for by in (0.0, 0.9, -0.9):
        moved = scores.copy().reshape(-1, 10)
        room = np.minimum(np.diff(moved[:, 3:6], axis=1).min(axis=1), np.diff(moved[:, 4:8], axis=1).min(axis=1)) / 2
        moved[:, 4] += by * room
        moved[:, 5] -= by * room
        assert (np.diff(moved.reshape(3, size), axis=1) >= 0).all()
        fitted = cases.Data(moved.ravel(), y, group, weight).fit(model)
        assert by == 0 or not np.array_equal(moved.ravel(), scores)
        content = fitted.fair_maps_.private_content().to_json()
        del content["private"]["largest_error"]  # how far the maps of all scores are, to two digits
        files.append(json.dumps(content))
    assert files[0] == files[1] == files[2]
    assert "knots" in files[0]


def test_private_people_are_counted_not_rows(tmp_path):
    rng = np.random.default_rng(0)
    visits = np.tile(np.arange(40), 5)  # of twenty people of either group, five visits each
    score = np.clip(visits / 40 + rng.normal(0, 0.05, 200), 0, 1)
    y, group = (rng.random(200) < score).astype(int), np.where(visits % 2 == 0, "F", "M")
    table = fairpot.score_table(y, score, sensitive_features=group, clusters=visits)
    [moved] = [
        e["map"]
        for e in saved(FairPOT(1.0, reference="M").fit(table), tmp_path / "m", private=True)["maps"]
        if e["group"] == "F"
    ]
    assert len(moved["knots"]) <= 2 + 2  # two ends, and at most one for each ten people of each part
    few = fairpot.score_table(y, score, sensitive_features=group, clusters=visits % 16)  # eight people a group
    with pytest.raises(ModelFileError, match=r"fewer than 10 rows \(or clusters\) of 'F', 'M' make up"):
        FairPOT(1.0, reference="M").fit(few).save(tmp_path / "x", private=True)
    weight = np.ones(200)
    odd = int(np.flatnonzero(group == "F")[7])
    weight[odd] = 5000.5  # who counts for many is still one
    table = fairpot.score_table(y, score, sensitive_features=group, sample_weight=weight, weights="importance")
    content = saved(FairPOT(1.0, reference="M").fit(table), tmp_path / "m", private=True)
    step = content["private"]["step"]
    assert np.abs(published(content) - score[odd]).min() > 2 * step


def test_private_values_stand_for_ten_of_the_reference(tmp_path):
    """Of a reference of twelve there is one part of ten: whatever the moved group's size, one mean of all."""
    rng = np.random.default_rng(1)
    scores, group = rng.random(612), np.array(["M"] * 12 + ["F"] * 600)
    data = cases.Data(scores, rng.integers(0, 2, 612), group)
    content = saved(data.fit(FairPOT(1.0, reference="M")), tmp_path / "m", private=True)
    [moved] = [each["map"] for each in content["maps"] if each["group"] == "F"]
    assert len(moved["knots"]) <= 3
    with pytest.raises(ModelFileError, match="of 'M' make up"):  # a tenth of the moved group: one of the reference
        data.fit(FairPOT(0.1, reference="M")).save(tmp_path / "x", private=True)


def test_a_file_does_not_become_private(tmp_path):
    people().fit(FairPOT(0.4)).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="does not know how many rows"):
        fairpot.load(tmp_path / "m").save(tmp_path / "p", private=True)


def test_a_private_repair_is_nearly_the_same(tmp_path):
    data = people(n=4000)
    model = data.fit(FairPOT(None))
    model.save(tmp_path / "m", private=True)
    loaded = fairpot.load(tmp_path / "m")
    both = [each.transform(data.scores, sensitive_features=data.group) for each in (model, loaded)]
    gaps = [fairpot.metrics.xauc_gap(data.y, s, sensitive_features=data.group) for s in both]
    assert abs(gaps[0] - gaps[1]) < 0.005
    assert abs(auc(data.y, both[0]) - auc(data.y, both[1])) < 0.002


def test_private_counts(tmp_path):
    content = saved(people(n=437).fit(WassersteinRepair(t=1)), tmp_path / "m", private=True)
    for each in content["fitted_on"]["groups"]:
        counts = each["counts"]
        assert all(counts[name] % 10 == 0 for name in ("rows", "positives", "negatives", "scores"))


def test_a_certificate_is_not_that_of_simplified_maps(tmp_path):
    model = people(n=6000).fit(FairPOT(None, max_gap=0.1, confidence=0.9))
    assert saved(model, tmp_path / "m")["certificate"]["bound"] == 0.1
    assert "certificate" not in saved(model, tmp_path / "m", private=True)
