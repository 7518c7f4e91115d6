"""SQL that is run by the databases it is for, against the maps themselves."""

import math

import numpy as np
import pytest
import sqlglot

from export_cases import NAMES, hostile_maps, hostile_scores, mapped, same_numbers
from fairpot.export import to_sql
from fairpot.postprocessing.post_logit import LogitMap
from fairpot.transport import ScoreMap

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
    database.drop("fairpot_pieces")
    text = to_sql(maps, dialect=database.dialect, table="people", **options)
    return [row[-1] for row in sorted(database.run(text), key=lambda row: row[0])]


@pytest.mark.parametrize("form", ["case", "table"])
def test_same_numbers_in_both_forms(database, form):
    """Eleven hostile maps, each for a group whose name is hostile too."""
    maps = dict(zip(NAMES, SMALL.values()))
    rows, expected = rows_for(maps)
    same_numbers(run(database, maps, rows, form=form), expected)


def test_many_knots(database):
    maps = {"it's": hostile_maps()["many knots"], "M": ScoreMap.identity()}
    rows, expected = rows_for(maps, 2000)
    same_numbers(run(database, maps, rows), expected)


@pytest.mark.parametrize("form", ["case", "table"])
def test_rows_without_a_map_get_null(database, form):
    maps = {"F": SMALL["monotone"], "M": SMALL["steps down"], "S": LogitMap([0.5], 3.0, -2.0)}
    rows = [(0.5, "f"), (0.5, "F "), (0.5, None), (None, "F"), (math.inf, "M"), (-math.inf, "S"), (None, "S")]
    rows += [] if database.dialect == "sqlite" else [(math.nan, "F"), (math.nan, "M"), (math.nan, "S")]
    assert run(database, maps, rows, form=form) == [None] * len(rows)


@pytest.mark.parametrize("form", ["case", "table"])
@pytest.mark.parametrize("row", [(0.5, "X"), (0.5, None), (None, "F"), (math.inf, "F")])
def test_rows_without_a_map_can_stop_the_query(database, form, row):
    maps = {"F": SMALL["monotone"], "S": LogitMap([0.5], 3.0, -2.0)}
    good = [(0.25, "F"), (0.5, "S")]
    assert None not in run(database, maps, good, form=form, unknown="error")
    with pytest.raises(database.Error) as stopped:
        run(database, maps, [*good, row], form=form, unknown="error")
    if database.dialect != "sqlite":
        assert "no map for this group" in str(stopped.value)


@pytest.mark.parametrize("form", ["case", "table"])
def test_sigmoid(database, form):
    """The exponential is the database's own: the last digits may differ."""
    maps = {"F": LogitMap([0.5], 7.3, -2.0), "M": ScoreMap.identity(), "Z": LogitMap([0.5], 1e3, 0.25)}
    rows, expected = rows_for(maps)
    got = np.array(run(database, maps, rows, form=form))
    np.testing.assert_allclose(got, expected, rtol=4e-16, atol=3e-308)


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
    text = to_sql(maps, dialect=database.dialect, score='sco"re', group=["sex", "age"], table=["t w"], column="a b")
    assert [row[-1] for row in sorted(database.run(text))] == [7.0, 8.0, None, None]


def test_an_expression_is_read_anywhere(database):
    maps = {"F": SMALL["monotone"]}
    database.load([(0.5, "F")])
    text = to_sql(maps, dialect=database.dialect)
    [(got,)] = database.run(f"SELECT {text} + 1 FROM people WHERE {text} > -1")
    assert got == mapped(SMALL["monotone"], np.array([0.5]))[0] + 1


def test_sqlite_reads_every_literal_exactly():
    import sqlite3

    from fairpot.export.sql_dialects import DIALECTS

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


@pytest.mark.parametrize("dialect", ["postgres", "duckdb", "sqlite", "spark", "bigquery", "snowflake"])
@pytest.mark.parametrize("unknown", ["null", "error"])
def test_every_dialect_is_parsed(dialect, unknown):
    maps = dict(zip(NAMES, SMALL.values())) | {"S": LogitMap([0.5], 3.0, -2.0), 7: SMALL["monotone"]}
    for form in ("case", "table"):
        text = to_sql(maps, dialect=dialect, table="a.people", form=form, unknown=unknown, group=["x", "y"])
        statements = [each for each in sqlglot.parse(text, read=dialect) if each is not None]
        assert len(statements) == (len(maps) + 1 if form == "table" and dialect != "spark" else 1)
        assert not any(each.find(sqlglot.exp.Command) for each in statements)
        assert {"people", "t"} & {each.alias_or_name for each in statements[-1].find_all(sqlglot.exp.Table)}
        assert ("never run there" in text) == (dialect in ("bigquery", "snowflake"))


@pytest.mark.parametrize("dialect", ["bigquery", "snowflake"])
def test_literals_that_are_only_parsed_round_trip(dialect):
    """What a parser reads in the text of dialects that are not run here: every number and every name."""
    maps = dict(zip(NAMES, SMALL.values()))
    tree = sqlglot.parse_one(to_sql(maps, dialect=dialect), read=dialect)
    found = {each.this for each in tree.find_all(sqlglot.exp.Literal)}
    assert set(maps) <= found
    numbers = {float(text) for text in found - set(maps)}
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
        ({"dialect": "oracle"}, "dialect must be one of 'postgres'"),
        ({"unknown": "raw"}, "unknown must be one of 'null', 'error'"),
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
