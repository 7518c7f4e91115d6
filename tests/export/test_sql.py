"""SQL that is run by the databases it is for, against the maps themselves."""

import math
import shutil
import sqlite3
import subprocess

import numpy as np
import pytest
import sqlglot

from export_cases import NAMES, followed_maps, hostile_maps, hostile_scores, mapped, same_numbers, shift_maps
from fairpot.export import to_sql
from fairpot.export.sql_dialects import DIALECTS
from fairpot.transport import ScoreMap, ShiftMap

PARSED = ("bigquery", "snowflake", "sqlserver", "oracle")  # and never run
READ_AS = dict(zip(DIALECTS, DIALECTS)) | {"sqlserver": "tsql"}
NULL = {"unknown_group": "null", "missing_group": "null"}
SMALL = {name: each for name, each in hostile_maps().items() if name != "many knots"}


def rows_for(maps, most=400):
    """Return rows of a score and a group, and what the maps make of them."""
    rows, expected = [], []
    for group, each in maps.items():
        scores = hostile_scores(each, most)
        rows += [(s, group) for s in scores.tolist()]
        expected.append(mapped(each, scores))
    return rows, np.concatenate(expected)


def run(database, maps, rows, **options):
    """Load rows, run the export, and return the new column in the rows' order."""
    database.load(rows)
    text = to_sql(maps, dialect=database.dialect, table="people", **options)
    return [row[-1] for row in sorted(database.run(text), key=lambda row: row[0])]


@pytest.mark.parametrize("form", ["case", "table"])
def test_same_numbers_in_both_forms(database, form):
    """Eleven hostile maps, each for a group whose name is hostile too."""
    maps = dict(zip(NAMES, SMALL.values()))
    rows, expected = rows_for(maps)
    same_numbers(run(database, maps, rows, form=form), expected)


@pytest.mark.parametrize("form", ["auto", "table"])
def test_shifts_are_the_same_numbers(database, form):
    """One line each; beside a large map they stay one."""
    maps = shift_maps() | ({} if form == "auto" else {"F": SMALL["monotone"]})
    rows, expected = rows_for(maps)
    same_numbers(run(database, maps, rows, form=form), expected)
    text = to_sql(shift_maps(), dialect=database.dialect, table="people")
    assert "INSERT" not in text
    assert text.count("\n") == 2


@pytest.mark.parametrize("form", ["case", "table"])
def test_one_map_follows_all(database, form):
    """Written once, over a value that has a name; rows without a map go on as before."""
    maps = followed_maps()
    rows, expected = rows_for(maps, 200)
    same_numbers(run(database, maps, rows, form=form), expected)
    strangers = [(0.25, "nobody"), (0.25, None), (None, "it's 0"), (0.25, "it's 0")]
    known = float(maps["it's 0"](0.25))
    ways = {"unknown_group": "null", "missing_group": "keep"}
    assert run(database, maps, strangers, form=form, **ways) == [None, 0.25, None, known]
    with pytest.raises(Exception, match="fairpot"):
        run(database, maps, strangers[1:2], form=form)


@pytest.mark.parametrize("database", ["postgres"], indirect=True)
def test_a_value_is_not_copied_to_every_place_that_names_it(database):
    """Else its plan has the groups' maps once for every piece of the map that follows, and takes minutes."""
    database.load([(0.25, "it's 0")])
    text = to_sql(followed_maps(), dialect="postgres", table="people", form="case")
    plan = "".join(line for (line,) in database.run("EXPLAIN (VERBOSE) " + text.strip()))
    assert len(plan) < 4 * len(text)


def test_many_knots(database):
    maps = {"it's": hostile_maps()["many knots"], "M": ScoreMap.identity()}
    rows, expected = rows_for(maps, 2000)
    same_numbers(run(database, maps, rows), expected)


@pytest.mark.parametrize("form", ["case", "table"])
def test_rows_without_a_map_get_null(database, form):
    maps = {"F": SMALL["monotone"], "M": SMALL["steps down"], "S": ShiftMap(factor=3.0)}
    rows = [(0.5, "f"), (0.5, "F "), (0.5, None), (None, "F"), (math.inf, "M"), (-math.inf, "S"), (None, "S")]
    if database.dialect == "mysql":  # which stores finite numbers alone
        rows = [(s, g) for s, g in rows if s is None or math.isfinite(s)]
    rows += [] if database.dialect in ("sqlite", "mysql") else [(math.nan, "F"), (math.nan, "M"), (math.nan, "S")]
    assert run(database, maps, rows, form=form, **NULL) == [None] * len(rows)


@pytest.mark.parametrize("form", ["case", "table"])
@pytest.mark.parametrize("row", [(0.5, "X"), (0.5, None), (None, "F"), (math.inf, "F")])
def test_rows_without_a_map_can_stop_the_query(database, form, row):
    maps = {"F": SMALL["monotone"], "S": ShiftMap(factor=3.0)}
    if row[0] == math.inf and database.dialect == "mysql":
        pytest.skip("it stores finite numbers alone")
    good = [(0.25, "F"), (0.5, "S")]
    assert None not in run(database, maps, good, form=form)
    with pytest.raises(database.Error, match="no map for this group"):
        run(database, maps, [*good, row], form=form)


@pytest.mark.parametrize("form", ["case", "table"])
@pytest.mark.parametrize("unknown", ["error", "keep", "null"])
@pytest.mark.parametrize("missing", ["error", "keep", "null"])
def test_unknown_and_missing_groups_each_have_their_way(database, form, unknown, missing):
    maps = {"F": SMALL["monotone"], "S": ShiftMap(factor=3.0)}
    good, ways = [(0.25, "F"), (0.75, "S")], {"unknown_group": unknown, "missing_group": missing, "form": form}
    expected = run(database, maps, good)
    value = {"keep": 0.625, "null": None}
    for row, way in (((0.625, "X"), unknown), ((0.625, None), missing)):
        if way == "error":
            with pytest.raises(database.Error, match="no map for this group"):
                run(database, maps, [*good, row], **ways)
        else:
            assert run(database, maps, [*good, row], **ways) == [*expected, value[way]]


def test_scripts_of_several_maps_in_any_order(database):
    """Each finds its own pieces, however often and in which order they are run."""
    rng = np.random.default_rng(4)
    knots = np.sort(rng.random(1500))
    maps = [{"F": ScoreMap(knots, np.sort(rng.random(1500))), "M": ScoreMap.identity()} for _ in range(2)]
    maps.append({"M": maps[0]["F"], "F": maps[0]["M"]})  # the same maps with the groups exchanged
    rows = [(s, g) for s in rng.random(40).tolist() for g in ("F", "M")]
    for which in (1, 0, 0, 2, 1, 2, 0):
        expected = [float(mapped(maps[which][g], np.array([s]))[0]) for s, g in rows]
        same_numbers(run(database, maps[which], rows, form="table"), expected)


def test_a_script_mends_what_was_left_of_a_table(database):
    maps = {"F": ScoreMap(np.arange(600.0), np.arange(600.0) ** 2)}
    text = to_sql(maps, dialect=database.dialect, table="people", form="table")
    database.load([(3.5, "F"), (598.5, "F")])
    expected = sorted(database.run(text))
    name = text.partition("CREATE TABLE IF NOT EXISTS ")[2].partition(" (")[0]
    database.connection.execute(f"DELETE FROM {name} WHERE lo > 100")
    database.connection.commit() if database.dialect == "sqlite" else None
    assert sorted(database.run(text)) == expected


def test_columns_that_sqlite_imported_are_text(tmp_path):
    """`.import --csv` makes columns of text, and empty texts of what is missing."""
    shell = shutil.which("sqlite3")
    if shell is None:
        pytest.skip("the shell of SQLite is not installed")
    (tmp_path / "in.csv").write_text(
        "id,points,smoker,site\n0,2,True,1\n1,2.5,False,2\n2, -1e0,TRUE,1\n3,7,,2\n4,7,True,\n"
    )
    smoker = {True: ScoreMap([-1.0, 3.0], [0.0, 8.0]), False: ScoreMap.identity()}
    site = {1: ScoreMap([-1.0, 3.0], [0.0, 8.0]), 2: ScoreMap.identity()}
    for maps, group, expected in ((smoker, "smoker", "6.0 2.5 0.0 7.0 8.0"), (site, "site", "6.0 2.5 0.0 7.0 7.0")):
        for form in ("case", "table"):
            text = to_sql(
                maps, dialect="sqlite", score="points", group=group, table="people", form=form, missing_group="keep"
            )
            script = f".import --csv {tmp_path / 'in.csv'} people\n.mode list\n{text.removesuffix(chr(10))};\n"
            done = subprocess.run([shell, "-bail"], input=script, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            assert [line.split("|")[-1] for line in done.stdout.splitlines()] == expected.split()


@pytest.mark.parametrize("score", ["", "n/a", "12 months", "0x10", "inf"])
def test_texts_that_are_no_numbers_stop_sqlite(score):
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE people (score TEXT, sex TEXT)")
        connection.execute("INSERT INTO people VALUES (?, 'F')", [score])
        maps = {"F": ScoreMap([0.0, 1.0], [0.0, 2.0])}
        with pytest.raises(sqlite3.Error, match="no map for this group, or no finite score"):
            connection.execute(to_sql(maps, dialect="sqlite", group="sex", table="people")).fetchall()
        text = to_sql(maps, dialect="sqlite", group="sex", table="people", unknown_group="null")
        assert connection.execute(text).fetchone()[-1] is None
    connection.close()


def test_the_quicker_form_is_chosen():
    """An expression stays one where the table is not known; with it, the join comes where it is quicker."""
    maps = {"F": ScoreMap(np.arange(300.0), np.arange(300.0) ** 2)}
    assert "ASOF" in to_sql(maps, dialect="duckdb", table="people")
    assert "ASOF" not in to_sql(maps, dialect="duckdb")
    for dialect in ("sqlite", "postgres"):
        assert "JOIN" not in to_sql(maps, dialect=dialect, table="people")


@pytest.mark.parametrize(
    ("names", "type_"),
    [((1, 2), "int"), ((-3, 2**40), "bigint"), ((0.1, 1e-300), "float8"), ((True, False), "boolean")],
)
def test_groups_that_are_no_text(database, names, type_):
    maps = dict(zip(names, (SMALL["monotone"], SMALL["steps down"])))
    rows, expected = rows_for(maps, 80)
    database.load(rows, type_)
    got = sorted(database.run(to_sql(maps, dialect=database.dialect, table="people")), key=lambda row: row[0])
    same_numbers([row[-1] for row in got], expected)


def test_intersections(database):
    maps = {"sex=F, age=1": ScoreMap([0.0], [7.0]), "sex=it's, age=2": ScoreMap([0.0], [8.0])}
    database.drop('"t w"')
    database.connection.execute('CREATE TABLE "t w" (id int, "sco""re" int, sex varchar(9), age int)')
    database.connection.execute(
        "INSERT INTO \"t w\" VALUES (0, 1, 'F', 1), (1, 1, 'it''s', 2), (2, 1, 'F', 2), (3, 1, NULL, 2)"
    )
    text = to_sql(
        maps,
        dialect=database.dialect,
        score='sco"re',
        group=["sex", "age"],
        table=["t w"],
        column="a b",
        unknown_group="null",
        missing_group="keep",
    )
    assert [row[-1] for row in sorted(database.run(text))] == [7.0, 8.0, None, 1.0]


def test_an_expression_is_read_anywhere(database):
    maps = {"F": SMALL["monotone"]}
    database.load([(0.5, "F")])
    text = to_sql(maps, dialect=database.dialect)
    [(got,)] = database.run(f"SELECT {text} + 1 FROM people WHERE {text} > -1")
    assert got == mapped(SMALL["monotone"], np.array([0.5]))[0] + 1


def test_sqlite_reads_every_literal_exactly():
    rng = np.random.default_rng(0)
    bits = np.concatenate((rng.integers(0, 2**63 - 1, 20_000), rng.random(20_000).view(np.int64), np.arange(50)))
    values = bits.view(np.float64)
    values = np.concatenate((values[np.isfinite(values)], [1.7976931348623157e308, -1e-310, 1e-290, 1e290]))
    number, got = DIALECTS["sqlite"].number, []
    with sqlite3.connect(":memory:") as connection:
        for first in range(0, len(values), 400):
            texts = (f"({number(v)})" for v in values[first : first + 400].tolist())
            got += [v for (v,) in connection.execute(f"VALUES {', '.join(texts)}")]
    connection.close()
    np.testing.assert_array_equal(got, values)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("unknown", ["null", "error", "keep"])
def test_every_dialect_is_parsed(dialect, unknown):
    maps = dict(zip(NAMES, SMALL.values())) | {"S": ShiftMap(factor=3.0), 7: SMALL["monotone"]}
    maps = {group: each for group, each in maps.items() if group != "" or dialect != "oracle"}
    for form in ("case", "table"):
        text = to_sql(maps, dialect=dialect, table="a.people", form=form, unknown_group=unknown, group=["x", "y"])
        statements = [each for each in sqlglot.parse(text, read=READ_AS[dialect]) if each is not None]
        around = 3 if dialect == "oracle" else 4  # it has no statement that begins a transaction
        assert len(statements) == (len(maps) + around if form == "table" and dialect != "spark" else 1)
        assert not any(each.find(sqlglot.exp.Command) for each in statements)
        assert {"people", "t"} & {each.alias_or_name for each in statements[-1].find_all(sqlglot.exp.Table)}
        assert ("never run there" in text) == (dialect in PARSED)


HOSTILE = [
    "risk\\",
    "\\`;DROP TABLE people;--",
    '\\";DROP TABLE people;--',
    "\\\\` FROM people; SELECT `1",
    "`;--",
    "``\\``",
    '"";--"',
    "' OR 'a'='a",
    "risk]; DROP TABLE people; --",
    "[risk",
    "first\nsecond; -- third",
    "\n!ls\n",
    "/* risk */ #",
    "\\n\\u0060\\x60",
    "{{risk}} $1 %s :risk @risk",
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_are_read_back(dialect, name):
    """Whatever a column or a table is called, there is one statement, and it has that name."""
    maps = {"F": SMALL["flat and negative zero"]}
    plain = {"score": "s", "group": "g", "table": ["people"], "column": "new"}
    for given in ({"score": name}, {"group": name}, {"group": ["g", name]}, {"table": [name]}, {"column": name}):
        if dialect == "oracle" and '"' in name:
            with pytest.raises(ValueError, match="Oracle has no names with a quotation mark"):
                to_sql(maps, dialect=dialect, **(plain | given))
            continue
        [tree] = sqlglot.parse(to_sql(maps, dialect=dialect, **(plain | given)), read=READ_AS[dialect])
        names = {each.this for each in tree.find_all(sqlglot.exp.Identifier)}
        wanted = [v for each in (plain | given).values() for v in ([each] if isinstance(each, str) else each)]
        assert names == {*wanted, "t"}
    if dialect != "oracle" or '"' not in name:
        text = to_sql(maps, dialect=dialect, table="t", form="table", pieces_table=name)
        assert len(sqlglot.parse(text, read=READ_AS[dialect])) == {"spark": 1, "oracle": 5}.get(dialect, 6)


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_found(database, name):
    if database.dialect == "mysql" and name != name.strip():
        pytest.skip("it has no such names")
    quoted = '"' + name.replace('"', '""') + '"'
    database.drop(quoted)
    database.connection.execute(f"CREATE TABLE {quoted} (id int, {quoted} float8)")
    database.connection.execute(f"INSERT INTO {quoted} VALUES (1, 0.5)")
    text = to_sql(
        {0.5: ScoreMap([0.0], [7.0])}, dialect=database.dialect, score=name, group=name, table=[name], column="new"
    )
    assert database.run(text) == [(1, 0.5, 7.0)]
    database.drop(quoted)


@pytest.mark.parametrize("name", ["a\0b", "a\x1b[2J", "a\u202eb", "a\ud800"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_names_that_no_database_holds_or_that_steer_who_reads_them_are_refused(dialect, name):
    with pytest.raises(ValueError, match=r"printable(.|\n)*Hint: rename"):
        to_sql({"F": SMALL["monotone"]}, dialect=dialect, score=name)


@pytest.mark.parametrize("dialect", PARSED)
def test_literals_that_are_only_parsed_round_trip(dialect):
    """What a parser reads in the text of dialects that are not run here: every number and every name."""
    maps = dict(zip(NAMES, SMALL.values()))
    if dialect == "oracle":
        with pytest.raises(ValueError, match=r"Oracle takes for NULL(.|\n)*Hint: rename"):
            to_sql(maps, dialect=dialect)
        maps.pop("")
    tree = sqlglot.parse_one(to_sql(maps, dialect=dialect, **NULL), read=READ_AS[dialect])
    found = {each.this for each in tree.find_all(sqlglot.exp.Literal, sqlglot.exp.National)}
    end = "." if dialect == "sqlserver" else ""  # see where blanks at the end count
    parts = {group + end for group in maps}
    assert parts <= found
    numbers = {float(text) for text in found - parts - {"\\000A", "", "."}}
    assert {abs(v) for v in SMALL["monotone"].values[:-1].tolist()} <= numbers


def test_one_case_stays_shallow():
    maps = {"F": ScoreMap(np.arange(1024.0), np.arange(1024.0) ** 2)}
    text = to_sql(maps, dialect="duckdb", form="case")
    depth = deepest = 0
    for word in text.replace("(", " ").replace(")", " ").split():
        depth += (word == "CASE") - (word == "END")
        deepest = max(deepest, depth)
    assert deepest <= 13


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dialect": "db2"}, "dialect must be one of 'postgres'"),
        ({"unknown_group": "raw"}, "unknown_group must be one of 'error', 'keep', 'null'"),
        ({"missing_group": "drop"}, "missing_group must be one of"),
        ({"form": "table", "table": "t", "pieces_table": "p" * 60}, "pieces_table must be a name of 1 to 50"),
        ({"form": "tree"}, "form must be one of"),
        ({"score": ""}, "name of a column"),
        ({"group": []}, "group names no column"),
        ({"form": "table"}, "a join needs to know the table"),
        ({"maps": {}}, "maps is empty"),
        ({"maps": [1]}, "maps must be a dict"),
        ({"maps": {(1, 2): ScoreMap.identity()}}, "is a tuple; exports know texts"),
        ({"maps": {"a\0": ScoreMap.identity()}}, "cannot hold"),
        ({"maps": {"a": "b"}}, "must be a ScoreMap, got str"),
    ],
)
def test_refusals(options, message):
    given = {"maps": {"F": ScoreMap.identity()}, "dialect": "duckdb"} | options
    with pytest.raises((ValueError, TypeError), match=message):
        to_sql(given.pop("maps"), **given)
