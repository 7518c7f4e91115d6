"""Tables and texts on screens of every width: no word and no number is ever split."""

import re

import pytest

from cli.conftest import COLUMNS
from fairpot.cli._app import COMMANDS
from fairpot.words.tables import SHORT, command_lines, table_lines, wrapped

HEADS = ["ranked higher", "ranked lower", "gap", "from", "to", "xAUC", "with outcome"]
ROWS = [
    ["women", "men", "0.131", "0.087", "0.178", "0.880", "1,464"],
    ["a group of a rather long name", "men", "-0.003", "-0.101", "0.100", "0.749", "144"],
]
WIDTHS = (40, 60, 80, 120)


def words(lines):
    return [word for line in lines for word in line.split()]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_table_fits_and_keeps_every_word_and_number_whole(width):
    lines = table_lines(HEADS, ROWS, texts=2, width=width)
    assert max(map(len, lines)) <= width
    text = " ".join(words(lines))
    for row in ROWS:
        for word in words(row):
            assert re.search(rf"(^|[\s(]){re.escape(word)}([\s;)]|$)", text), word


def test_heads_get_shorter_before_names_are_broken_and_rows_are_stacked():
    long, short, broken, stacked = (table_lines(HEADS, ROWS, texts=2, width=width) for width in (90, 80, 60, 50))
    assert "ranked higher" in long[0]
    assert short[0].split() == ["higher", "lower", "gap", "from", "to", "xAUC", "with"]
    assert len(short) == len(long) == 3
    assert broken[2:] == [
        "women          men     0.131   0.087  0.178  0.880  1,464",
        "a group of a   men    -0.003  -0.101  0.100  0.749    144",
        "  rather long",
        "  name",
    ]
    assert stacked[:2] == ["ranked higher women; ranked lower men", "  gap 0.131 (0.087 to 0.178); xAUC 0.880;"]
    assert table_lines(HEADS, ROWS, texts=2) == long


def test_heads_stand_in_two_lines_before_rows_are_stacked():
    lines = table_lines(["group", "weighted rows", "weighted share"], [["F", "1,221", "40.2%"]], width=25)
    assert lines == ["       weighted  weighted", "group      rows     share", "F         1,221     40.2%"]
    assert table_lines(["group", "AUC", "from", "to"], [["F", "-", "-", "-"]], width=10) == ["group F", "  AUC -"]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_text_is_broken_between_words(width):
    text = "Of those with the outcome, 35% in a and 32% in b are in the top 10%. " * 3 + "x" * 50
    lines = wrapped(text, width)
    assert words(lines) == text.split()
    assert all(len(line) <= width or " " not in line for line in lines)


def test_wide_characters_take_two_places():
    lines = table_lines(["group", "rows"], [["東京", "12"], ["F", "3"]])
    assert lines == ["group  rows", "東京     12", "F         3"]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_command_can_be_pasted(width):
    command = ["fairpot", "fit", "my scores.csv", "--group", "sex", "--max-gap", "0.05", "-o", "map.json"]
    lines = command_lines(command, width)
    assert max(map(len, lines)) <= width
    assert all(line.endswith(" \\") for line in lines[:-1])
    assert all(line.startswith(("fairpot", "  -", "  '")) for line in lines)  # a value stands beside its option
    joined = " ".join(line.removesuffix(" \\").strip() for line in lines)
    assert joined == "fairpot fit 'my scores.csv' --group sex --max-gap 0.05 -o map.json"


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("command", [["audit", "--top", "0.3"], ["fit", "--max-gap", "0.05"]])
def test_commands_fit_the_terminal(run, csv, monkeypatch, width, command):
    wide = words(run(command[0], csv, *COLUMNS, *command[1:]).out.partition("\n\n")[0].splitlines())
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", str(width))
    out = run(command[0], csv, *COLUMNS, *command[1:]).out
    assert all(len(line) <= width or csv in line for line in out.splitlines()), out
    narrow = [word for word in words(out.partition("\n\n")[0].splitlines()) if word != "\\"]
    assert narrow == wide  # the answer, word for word


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_help_splits_no_word(run, monkeypatch, command):
    """An option's name is not cut at its hyphens, and a narrow column of meanings cuts nothing."""
    monkeypatch.setenv("COLUMNS", "102")
    every = run(*command, "--help").out.split()
    for width in (42, 57, 82):
        monkeypatch.setenv("COLUMNS", str(width))
        assert run(*command, "--help").out.split() == every
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(*command, "--help-all" if command and command != ["datasets"] else "--help").out.splitlines()
    assert max(map(len, lines)) <= 80, lines  # examples too can be read and pasted
    assert not {"  MAP", "  FILE", "  [FILE]..."} & set(lines)  # what is no option is not listed as one


def test_a_narrow_table_says_of_whom_a_mean_is():
    """A mean change over changed rows must not read as one over all."""
    assert "of changed" in SHORT["mean change of changed"]
