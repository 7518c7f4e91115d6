"""What a row is, said once: every command, the settings file, JSON and the printed next step know all of it."""

import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from cli.conftest import COLUMNS
from fairpot import audit, compare, effect, score_table
from fairpot._arguments import spoken_by
from fairpot._said import WORDS
from fairpot.cli._app import COMMANDS, app
from fairpot.cli._errors import as_option
from fairpot.cli._rows import ROW_OPTIONS
from fairpot.inference import plan_sample_size
from fairpot.methods import FairPOT

pytestmark = pytest.mark.usefixtures("few_draws")

# What commands do with rows, and what each of them is asked beside them.
OUTCOMES = {
    "audit": [],
    "fit": ["--lam", "0.5"],
    "compare": ["--method", "fairpot", "--folds", "2"],
    "report": ["-o", "report.json", "--force"],
    "plan": ["--gap", "0.05"],
}
NAMED = {"--score", "--group"}
OF_FILES = {option.flag for option in ROW_OPTIONS if option.section != "columns"}
OF_OUTCOMES = {
    "--label",
    "--positive",
    "--bands",
    "--unknown",
    "--time",
    "--event",
    "--horizon",
    "--competing",
    "--leaving",
    "--weight",
    "--weights",
    "--cluster",
    "--lower-is-riskier",
    "--high-score-means",
}

# Everything that can be said of one odd file, by its key.
SAID = {
    "score": "points",
    "label": "died",
    "positive": "ja",
    "group": ["ward"],
    "missing_group": "own",
    "weight": "share",
    "weights": "importance",
    "cluster": "patient",
    "lower_is_riskier": True,
    "high_score_means": "help",
    "format": "csv",
    "delimiter": ";",
    "decimal": ",",
    "encoding": "latin-1",
    "drop_missing": True,
    "memory": "1GB",
    "threads": 1,
}
FOLLOWED = {"time", "event", "horizon", "competing", "leaving"}
ELSEWHERE = {"sql", "engine", "master", "sheet", "bands", "unknown", *FOLLOWED}
SHARED = {"--missing-group"}  # maps have an option of this name too


def draw_stays(n=900, seed=5):
    """Stays in hospital, several a patient, whose low points mean high risk; a few lack a value."""
    rng = np.random.default_rng(seed)
    patient = rng.integers(0, n // 4, n)
    ward = np.where(patient % 2 == 0, "Süd", "Nord")
    died = rng.random(n) < 0.4
    points = np.round(40 - 6 * (died + rng.normal(size=n // 4)[patient] + rng.normal(size=n) + (ward == "Süd")), 2)
    frame = pd.DataFrame(
        {
            "points": points,
            "died": np.where(died, "ja", "nein"),
            "ward": ward,
            "sex": np.where(patient % 3 == 0, "F", "M"),
            "share": np.round(rng.gamma(2, 1, n) + 0.1, 3),
            "patient": [f"P-{p}" for p in patient],
        }
    )
    frame.loc[[3, 70, 200], ["points", "patient", "share"]] = None
    return frame


@pytest.fixture
def stays(tmp_path, monkeypatch):
    """The stays in a file that has to be explained, and the settings that do so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site=A").mkdir()
    path = tmp_path / "site=A" / "stays.txt"
    draw_stays().to_csv(path, index=False, sep=";", decimal=",", encoding="latin-1")
    sections = {option.key: option.section for option in ROW_OPTIONS}
    lines = {section: [] for section in ("scan", "columns", "files")}
    for key, value in SAID.items():
        lines[sections[key]].append(f"{key} = {json.dumps(value)}")
    text = [*lines["scan"], "[columns]", *lines["columns"], "[files]", *lines["files"]]
    (tmp_path / "stays.toml").write_text("\n".join(text), encoding="utf-8")
    return path


def spoken(keys=None):
    """Say it on the command line."""
    words = []
    for option in ROW_OPTIONS:
        value = SAID.get(option.key)
        if value is None or (keys is not None and option.key not in keys):
            continue
        for each in value if isinstance(value, list) else [value]:
            words += [option.flag] if each is True else [option.flag, str(each)]
    return words


def next_of(out):
    [said] = re.findall(r"Next: .*", out)
    return said


def flags_of(name):
    return {flag for parameter in app.get_command(None, name).params for flag in parameter.opts}


def test_everything_is_tried_here():
    assert set(SAID) | ELSEWHERE == {option.key for option in ROW_OPTIONS}
    assert {option.flag for option in ROW_OPTIONS} == NAMED | OF_FILES | OF_OUTCOMES | SHARED


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_the_options_that_mean_something_to_it(run, name):
    """Those that count outcomes have all; a map knows which way scores run; others know nothing of rows."""
    expected = {"apply": NAMED | OF_FILES, "export": NAMED} | dict.fromkeys(OUTCOMES, NAMED | OF_FILES | OF_OUTCOMES)
    wanted = expected.get(name, set())
    assert flags_of(name) & (NAMED | OF_FILES | OF_OUTCOMES) == wanted
    shown = run(name, "--help-all" if wanted else "--help").out
    assert all(f"  {flag} " in shown for flag in wanted)


@pytest.mark.parametrize("name", OUTCOMES)
def test_settings_and_json_know_what_options_know(run, stays, name):
    said = run(name, stays, *spoken(), *OUTCOMES[name], "--json").json
    read = run(name, stays, "--settings", "stays.toml", *OUTCOMES[name], "--json").json
    assert said["fairpot"].pop("settings") is None
    assert read["fairpot"].pop("settings")["file"] == "stays.toml"
    assert said == read
    for option in ROW_OPTIONS:
        if option.section != "scan":
            assert (said[option.section][option.key] or None) == SAID.get(option.key)


def test_a_map_and_what_it_is_applied_to(run, stays):
    run("fit", stays, *spoken(), "--lam", "0.5", "-o", "map.json")
    files = {option.key for option in ROW_OPTIONS if option.section != "columns"}
    said = run("apply", "map.json", stays, *spoken(files), "-o", "said.csv", "--json").json
    read = run("apply", "map.json", stays, "--settings", "stays.toml", "-o", "read.csv", "--json").json
    assert (
        said["columns"]
        == read["columns"]
        == {key: SAID[key] for key in ("score", "group", "lower_is_riskier", "high_score_means")}
    )
    assert said["files"] == read["files"]
    assert (said["rows"], said["dropped"]) == (read["rows"], read["dropped"]) == (897, 3)
    found = run("export", "map.json", "--to", "python", "--json").json
    assert found["columns"] == said["columns"]


def test_the_next_command_says_it_again(run, stays):
    """Each step prints the next one, which runs as it is printed."""
    out = next_of(run("audit", stays, *spoken(), "--group", "sex").out)
    assert out.startswith("Next: fairpot fit ")
    name, *words = shlex.split(out.removeprefix("Next: fairpot ").replace("GAP", "0.2"))
    assert {*spoken(), "sex"} <= set(words)
    assert run(name, *words, "--json", "--force").json["columns"]["weights"] == "importance"
    said = next_of(run(name, *words, "--force").out)
    name, *words = shlex.split(said.removeprefix("Next: fairpot "))
    assert {"--drop-missing", "--threads", "1", "latin-1"} <= set(words)
    run(name, *(str(stays) if w == "NEW_FILE" else "adjusted.csv" if w == "ADJUSTED_FILE" else w for w in words))


def test_the_next_command_leaves_out_what_is_taken_anyway(run, tmp_path, monkeypatch):
    """Names of columns that are the default are not said again, unless a settings file may say another."""
    monkeypatch.chdir(tmp_path)
    run("datasets", "write", "synthetic", "scores.csv")
    plain, named = "fit scores.csv --max-gap", "fit scores.csv --score score --label label --group group --max-gap"
    assert plain in run("audit", "scores.csv").out
    assert named in run("audit", "scores.csv", "--no-settings").out
    (tmp_path / "fairpot.toml").write_text('[columns]\nscore = "risk"\n')
    assert named in run("audit", "scores.csv", "--score", "score").out


def test_the_next_command_keeps_what_was_asked_and_no_bound(run, csv):
    options = ["--min-group", "30", "--ties", "strict", "--reference", "F"]
    top = ["--top", "0.5", "--top-of", "group"]
    last = next_of(run("audit", csv, *COLUMNS, "--cluster", "id", *options, *top).out)
    words = shlex.split(last)
    assert words[-4:] == ["--max-gap", "GAP", "-o", "map.json"]
    assert {*options, "--cluster", "--top", "50%", "--top-of", "group"} <= set(words)
    run(*words[2:-3], "0.5", "--json")
    last = next_of(run("audit", csv, *COLUMNS).out)
    assert not {"--top", "--top-of", "--min-group", "--ties", "--groups"} & set(shlex.split(last))


def test_no_next_command_where_there_is_none(run, csv, people, tmp_path, fitted):
    """Standard input is gone, and an adjusted score is repaired."""
    text = (tmp_path / "all.csv", people.to_csv(index=False))
    assert "Next:" not in run("audit", "-", *COLUMNS, stdin=text[1]).out
    run("apply", fitted, csv, "-o", text[0])
    [column] = set(pd.read_csv(text[0]).columns) - set(people.columns)
    assert "Next:" in run("audit", text[0], *COLUMNS).out
    assert "Next:" not in run("audit", text[0], "--score", column, *COLUMNS[2:]).out


def test_the_next_command_of_a_query(run, people, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    people.to_csv("people.csv", index=False)
    query = "select risk as score, outcome as label, sex as \"group\" from 'people.csv'"
    last = next_of(run("audit", "--sql", query).out)
    name, *words = shlex.split(last.removeprefix("Next: fairpot ").replace("GAP", "0.1"))
    assert query in words
    assert run(name, *words, "--json").json["fitted"]["before"]["rows"] == len(people)


def test_a_key_in_the_wrong_place_is_told_where_it_belongs(run, csv, tmp_path):
    settings = tmp_path / "fairpot.toml"
    for text, hint in (
        ('cluster = "id"', "[columns]"),
        ('[columns]\ndelimiter = ";"', "[files]"),
        ('[files]\nmemory = "1GB"', "at the top"),
    ):
        settings.write_text(text)
        assert hint in run("audit", csv, "--settings", settings, expect=2).err


def test_what_weights_mean_needs_weights(run, csv):
    assert "--weight" in run("audit", csv, "--weights", "importance", expect=2).err


ROWS = ["--score", "points", "--label", "died", "--positive", "ja", "--group", "ward"]
LOW = [*ROWS, "--lower-is-riskier"]


@pytest.fixture
def plain(tmp_path):
    """The stays that lack nothing, in a plain file."""
    frame = draw_stays(1200, seed=8).dropna().reset_index(drop=True)
    frame.to_csv(tmp_path / "plain.csv", index=False)
    return tmp_path / "plain.csv", frame


def columns_of(frame, sign=-1, **more):
    return {
        "y_true": frame["died"] == "ja",
        "y_score": sign * frame["points"],
        "sensitive_features": frame["ward"],
        **more,
    }


GIVEN = {
    "alone": ([], lambda f: {}),
    "weights": (["--weight", "share"], lambda f: {"sample_weight": f["share"]}),
    "importance": (
        ["--weight", "share", "--weights", "importance"],
        lambda f: {"sample_weight": f["share"], "weights": "importance"},
    ),
    "cluster": (["--cluster", "patient"], lambda f: {"clusters": f["patient"]}),
    "both": (
        ["--weight", "share", "--weights", "importance", "--cluster", "patient"],
        lambda f: {"sample_weight": f["share"], "weights": "importance", "clusters": f["patient"]},
    ),
}


def limits(found, name=None):
    return [found["low"], found["high"]] if name is None else [found[f"{name}_low"], found[f"{name}_high"]]


@pytest.mark.parametrize(("options", "python"), GIVEN.values(), ids=GIVEN)
def test_numbers_are_those_of_python_in_every_command(run, plain, tmp_path, options, python):
    """One interval, whoever is asked: audit, report, fit, compare, plan."""
    path, frame = plain
    table = score_table(**{"rows" if k == "y_true" else k: v for k, v in columns_of(frame, **python(frame)).items()})
    expected = audit(table)
    found = run("audit", path, *LOW, *options, "--json").json
    page = run("report", path, *LOW, *options, "-o", tmp_path / "report.json", "--json").json
    for name in ("auc", "gap"):
        ends = [getattr(getattr(expected, name), end) for end in ("low", "high")]
        assert limits(found, name) == pytest.approx(ends, rel=1e-9)
        assert limits(page, name) == pytest.approx(ends, rel=1e-9)

    changes = effect(FairPOT(0.5).fit(table), table).changes.to_dict()
    fitted = run("fit", path, *LOW, *options, "--lam", 0.5, "--json").json["fitted"]["changes"]
    for name in ("auc", "gap"):
        assert limits(fitted[name]) == pytest.approx(limits(changes[name]), rel=1e-9)

    compared = run("compare", path, *LOW, *options, "--method", "fairpot", "--folds", 3, "--json").json
    with spoken_by(as_option):
        python_compared = compare(table, methods=["fairpot"], cv=3, random_state=0, max_gaps=(0.02, 0.05, 0.1))
    assert [each["text"] for each in compared["answers"]] == [
        python_compared.answer(bound).text for bound in (0.02, 0.05, 0.1)
    ]

    planned = run("plan", path, *LOW, *options, "--gap", 0.05, "--json").json
    assert planned["rows"] == plan_sample_size(0.05, table=table).rows


def test_every_command_says_what_weights_were_taken_for(run, plain, tmp_path):
    path, _ = plain
    weighted = [*LOW, "--weight", "share"]
    commands = {
        "audit": [],
        "fit": ["--lam", 0.5],
        "compare": ["--method", "fairpot"],
        "plan": ["--gap", 0.05],
        "report": ["-o", tmp_path / "page.html", "--force"],
    }
    for name, more in commands.items():
        found = run(name, path, *weighted, *more).out
        assert "A weight is how much a row counts: counts are of rows" in found, name
        said = run(name, path, *weighted, "--weights", "frequency", *more).out
        assert "A weight is so many rows, as said." in said, name
        assert "A weight is" not in run(name, path, *LOW, *more).out, name
    run("report", path, *weighted, *commands["report"])
    assert "A weight is how much a row counts" in (tmp_path / "page.html").read_text()


def test_a_page_of_importance_weights_is_not_that_of_repeated_rows(run, plain, tmp_path):
    path, _ = plain
    found = {}
    for word in ("frequency", "importance"):
        weighted = ["--weight", "share", "--weights", word]
        page = run("report", path, *LOW, *weighted, "-o", tmp_path / f"{word}.json", "--json").json
        audited = run("audit", path, *LOW, *weighted, "--json").json
        found[word] = limits(page, "gap")
        assert found[word] == pytest.approx(limits(audited, "gap"))
    assert found["frequency"] != pytest.approx(found["importance"], abs=1e-3)


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """60,000 patients with two visits each; some visits lack a value."""
    rng = np.random.default_rng(11)
    n = 120_000
    patient = rng.permutation(np.repeat(np.arange(60_000), 2))
    outcome = (rng.random(n) < 0.3).astype(int)
    site = np.where(patient % 5 == 0, "north", "south")
    score = np.round(rng.normal(size=60_000)[patient] + outcome + 0.3 * (site == "south") + rng.normal(size=n), 2)
    frame = pd.DataFrame({"score": score, "label": outcome, "group": site, "patient": patient})
    frame["share"] = rng.choice([0.5, 1.0, 2.5], n)
    path = tmp_path_factory.mktemp("visits") / "visits.parquet"
    frame.to_parquet(path, index=False)
    gaps = frame.copy()
    gaps["score"] = gaps["score"].mask(rng.random(n) < 0.01)
    gaps["patient"] = gaps["patient"].astype("Int64").mask(rng.random(n) < 0.01)
    gaps.to_parquet(path.with_name("gaps.parquet"), index=False)
    return path, frame, gaps


@pytest.mark.parametrize(("dropped", "weighted"), [(False, True), (True, False)])
def test_very_many_clusters(run, visits, tmp_path, dropped, weighted):
    path, frame, gaps = visits
    options = ["--cluster", "patient", *(["--drop-missing"] if dropped else [])]
    options += ["--weight", "share", "--weights", "importance"] if weighted else []
    kept = gaps.dropna() if dropped else frame
    file = path.with_name("gaps.parquet") if dropped else path
    weights = {"sample_weight": kept["share"], "weights": "importance"} if weighted else {}
    rows = {"sensitive_features": kept["group"], "clusters": kept["patient"].astype(int), **weights}
    table = score_table(kept["label"], kept["score"].astype(float), **rows)
    expected = audit(table).gap
    found = run("audit", file, *options, "--json").json
    assert [*limits(found, "gap"), found["gap_se"]] == pytest.approx(
        [expected.low, expected.high, expected.se], rel=1e-9
    )
    alone = run("audit", file, *(o for o in options if o not in ("--cluster", "patient")), "--json").json
    assert alone["gap_se"] != pytest.approx(expected.se, rel=1e-4)
    page = run("report", file, *options, "-o", tmp_path / "report.json", "--json").json
    assert limits(page, "gap") == pytest.approx([expected.low, expected.high], rel=1e-9)
    fitted = run("fit", file, *options, "--lam", 0.5, "--json").json["fitted"]["changes"]
    changes = effect(FairPOT(0.5).fit(table), table).changes.to_dict()
    assert limits(fitted["gap"]) == pytest.approx(limits(changes["gap"]), rel=1e-9)


def test_low_scores_that_mean_high_risk(run, plain, tmp_path):
    """Thresholds and scores are the user's own; numbers are those of the scores with a minus."""
    path, frame = plain
    found = run("audit", path, *LOW, "--threshold", 38, "--top", 0.2, "--json").json
    expected = audit(**columns_of(frame), threshold=-38, top=0.2)
    assert (found["auc"], found["gap"]) == (expected.auc, expected.gap)
    assert found["score_range"] == [frame["points"].min(), frame["points"].max()]
    flagged = frame["points"] <= 38
    at, top, _ = found["rates"]
    hits = [each["rates"][0]["all"]["hits"] for each in (at, top)]
    assert (at["threshold"], hits[0]) == (38, flagged.sum())
    assert hits[1] == (frame["points"] <= top["threshold"]).sum() >= 0.2 * len(frame)
    assert found["columns"]["lower_is_riskier"] is True
    out = run("audit", path, *LOW, "--threshold", 38).out
    assert "Flagged at 38 or below" in out
    assert "low score = high risk" in out
    assert "--lower-is-riskier" in next_of(out)


def test_a_map_knows_which_way_scores_run(run, plain, tmp_path):
    path, frame = plain
    model = FairPOT(0.6).fit(scores=-frame["points"], y=frame["died"] == "ja", sensitive_features=frame["ward"])
    expected = -model.transform(-frame["points"], sensitive_features=frame["ward"])
    out = run("fit", path, *LOW, "--lam", 0.6, "--threshold", 38, "-o", tmp_path / "map.json").out
    assert "Who is at 38 or below, before and after" in out
    assert json.loads((tmp_path / "map.json").read_text())["columns"]["lower_is_riskier"] is True
    assert "low score = high risk" in run("show", tmp_path / "map.json").out
    moves = run("fit", path, *LOW, "--lam", 0.6, "--json").json["fitted"]["moves"]
    shift = (expected - frame["points"])[expected != frame["points"]]
    [moved] = [each for each in moves if each["moved"]]
    assert moved["mean_shift"] == pytest.approx(shift.mean())
    assert moved["mean_shift_of_all"] == pytest.approx(shift.sum() / moved["rows"])
    assert (moved["up"], moved["down"]) == ((shift > 0).sum(), (shift < 0).sum())

    record = ["--changes", tmp_path / "changes.csv", "--threshold", 38]
    run("apply", tmp_path / "map.json", path, "-o", tmp_path / "new.csv", *record)
    new = pd.read_csv(tmp_path / "new.csv")["points_adjusted"]
    np.testing.assert_allclose(new, expected, rtol=1e-12)

    text = run("export", tmp_path / "map.json", "--to", "python").out
    names = {}
    exec(text, names)
    got = [names["adjusted_score"](s, g) for s, g in zip(frame["points"], frame["ward"])]
    np.testing.assert_allclose(got, expected, rtol=1e-12)

    reported = ["--map", tmp_path / "map.json", "--threshold", 38, "-o", tmp_path / "r.json", "--json"]
    found = run("report", path, *ROWS, *reported).json
    assert found["auc"] == found["effect"]["before"]["auc"] == audit(**columns_of(frame)).auc
    high = frame.assign(points=-frame["points"])
    high.to_csv(tmp_path / "high.csv", index=False)
    run("fit", tmp_path / "high.csv", *ROWS, "--lam", 0.6, "-o", tmp_path / "high.json")
    told = run("report", path, *LOW, "--map", tmp_path / "high.json", "-o", tmp_path / "x.json", expect=2).err
    assert "fitted without --lower-is-riskier" in told


def test_options_are_made_of_the_words_about_rows():
    """Whatever can be said of rows in Python and is told at the command line is an option there, word for word."""
    known = {option.key: option for option in ROW_OPTIONS}
    words = {word.key or name: word for name, word in WORDS.items() if word.says}
    parameters = app.get_command(None, "audit").params
    shared = {each.opts[0].removeprefix("--").replace("-", "_"): each for each in parameters}
    assert words.keys() <= known.keys() | shared.keys()
    assert words.keys() - known.keys() == {"groups", "min_group"}
    for key, word in words.items():
        assert (known[key].text if key in known else shared[key].help) == word.says
