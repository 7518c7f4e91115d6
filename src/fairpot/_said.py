"""What can be said of rows, declared once: every function, option and setting about rows is made from this record.

No annotation here is put off: the words are read from the annotations of :class:`Said` when it is imported.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from fairpot._defaults import LEAVING, MEANINGS, WEIGHTS, Leaving, Meaning, Weights

MissingGroup = Literal["error", "own"]
# What a command does with rows: names columns of somebody else's, reads scores and groups, counts outcomes. Each has
# the options of those before it.
Reads = Literal["names", "scores", "outcomes"]


@dataclass(frozen=True)
class Word:
    """One thing that can be said of rows, and all it is known by: in docstrings, at the command line, in settings."""

    kind: str  # what docstrings call its values
    text: str
    default: Any = None
    says: str = ""  # what --help says of it; nothing where the command line has no such option
    value: str = ""  # what --help calls its value, or its choices; a flag has none
    key: str = ""  # its option, in the settings file and in JSON, where that is not its own name
    reads: Reads = "outcomes"  # the first kind of command that it means something to
    map_decides: bool = False  # where rows meet a map, nobody is asked
    rare: bool = False
    names_column: bool = False  # of a frame or of files

    def entry(self, name: str) -> str:
        """Describe it as docstrings do."""
        default = f'"{self.default}"' if isinstance(self.default, str) else self.default
        return f"{name} : {self.kind}, default {default}\n    {self.text}".replace(" or None, default None", " or None")


def _column(says: str, text: str, **more: Any) -> Word:
    return Word("str or None", text, says=says, value="COLUMN", names_column=True, **more)


class Said(TypedDict, total=False):
    """What is said of rows, whether they are columns, a table, a frame or files; what is not said has its default."""

    sensitive_features: Annotated[
        Any,
        Word(
            "column of shape (n,), or frame with several columns",
            "Group of each row; several columns form intersections.",
        ),
    ]
    sample_weight: Annotated[Any, Word("column of shape (n,)", "Weights; ``weights`` says what they mean.")]
    weights: Annotated[
        Weights | None,
        Word(
            '{"frequency", "importance"} or None',
            "A weight is so many rows, or how much a row counts, which None takes too.",
            says="What a weight is: how much a row counts (importance, unless you ask), or how many rows it is "
            "(frequency).",
            value="|".join(WEIGHTS),
            rare=True,
        ),
    ]
    clusters: Annotated[
        Any, Word("column of shape (n,)", "What rows that belong together share, such as the patient of each visit.")
    ]
    pos_label: Annotated[
        Any,
        Word(
            "a value",
            "The positive outcome, where outcomes are not 0/1 or booleans.",
            says="Value that means the outcome happened, if it is not 0/1 or true/false.",
            value="VALUE",
            key="positive",
        ),
    ]
    lower_is_riskier: Annotated[
        bool,
        Word(
            "bool",
            "Whether a low score means high risk, as with credit scores.",
            False,
            says="A low score means high risk, as with credit scores.",
            reads="names",
            map_decides=True,
        ),
    ]
    high_score_means: Annotated[
        Meaning | None,
        Word(
            '{"help", "harm"} or None',
            "What a high score does to a person. It decides the default reference, and how sentences are worded.",
            says="What a high score does to the person: help (an offer, a place) or harm (a denial, an arrest).",
            value="|".join(MEANINGS),
            reads="names",
            map_decides=True,
        ),
    ]
    bands: Annotated[
        Mapping[str, Any] | None,
        Word(
            "dict of column to edges, or to a number of bands",
            'Cut numbers: ``{"age": [25, 45, 65]}`` says where bands begin, ``{"age": 4}`` makes four.',
            says="Cut this group column of numbers: age:25,45,65 says where bands begin, age:4 makes four of about "
            "equal size.",
            value="COLUMN:EDGES",
            rare=True,
        ),
    ]
    unknown: Annotated[
        Sequence[Any] | None,
        Word(
            "list of values or None",
            "Groups that mean unknown: their rows are measured apart, compared with nobody and not moved.",
            says="Values of the group that mean it is not known: measured apart, compared with nobody.",
            value="A,B",
            rare=True,
        ),
    ]
    missing_group: Annotated[
        MissingGroup,
        Word(
            '{"error", "own"}',
            'Whether rows without a group are an error, or a group "(missing)".',
            "error",
            says="Rows without a group: an error, or a group of their own.",
            value="error|own",
            rare=True,
        ),
    ]
    groups: Annotated[
        Collection[Any] | None,
        Word(
            "list of group names or None",
            "Compare these only; the scores of others do not change.",
            says="Compare only these groups.",
            value="A,B",
            rare=True,
        ),
    ]
    min_group: Annotated[
        int,
        Word(
            "int",
            "Groups of fewer rows are left out of the comparison, and named; their scores do not change.",
            0,
            says="Leave groups with fewer rows out of the comparison.",
            value="ROWS",
        ),
    ]
    time: Annotated[
        Any,
        Word(
            "column of shape (n,), or str",
            "Until when each row was followed, from 0 on; of a frame or files, the name of that column.",
            says="Column with the time until which a row was followed; with --horizon.",
            value="COLUMN",
            rare=True,
        ),
    ]
    event: Annotated[
        Any,
        Word(
            "column of shape (n,), or str",
            "How that ended: 1 (True) with the outcome, 0 without it, or the code of a ``competing`` event.",
            says="Column that says how that ended: 1 with the outcome, 0 without it.",
            value="COLUMN",
            rare=True,
        ),
    ]
    horizon: Annotated[
        float | None,
        Word(
            "float or None",
            "The time by which the outcome must have come; rows stand for those like them that left before.",
            says="Time by which the outcome must have come.",
            value="TIME",
            rare=True,
        ),
    ]
    competing: Annotated[
        Any,
        Word(
            "a value",
            "Code of an event that rules the outcome out, such as death: it counts as not having the outcome.",
            says="Code of an event that rules the outcome out, as death may.",
            value="CODE",
            rare=True,
        ),
    ]
    leaving: Annotated[
        Leaving | None,
        Word(
            '{"score", "group"} or None',
            "What leaving early may depend on: group and score, which None takes too, or the group alone.",
            says="What leaving early depends on: group and score, unless you ask, or group.",
            value="|".join(LEAVING),
            rare=True,
        ),
    ]
    drop_missing: Annotated[
        bool,
        Word(
            "bool",
            "Whether rows with a missing value are left out, with a warning that counts them; else they are an error.",
            False,
            says="Leave out rows with missing values, and say how many.",
            reads="scores",
        ),
    ]
    score: Annotated[
        str | None,
        _column("Column with the score.", "Of a frame or files: the column with the score.", reads="names"),
    ]
    label: Annotated[
        str | None,
        _column("Column with the outcome.", "The column with the outcome."),
    ]
    group: Annotated[
        str | Sequence[str] | None,
        _column(
            "Column with the group; give it several times for intersections.",
            "The column with the group, or several, which form intersections.",
            reads="names",
        ),
    ]
    weight: Annotated[str | None, _column("Column with the weight of each row.", "The column with the weights.")]
    cluster: Annotated[
        str | None,
        _column(
            "Column that says which rows belong together, such as the patient.",
            "The column that says which rows belong together.",
        ),
    ]


WORDS: dict[str, Word] = {name: hint.__metadata__[0] for name, hint in Said.__annotations__.items()}
# Each column, and the word that names it where rows are a frame; times and events go by one word in either case.
COLUMNS = {"sensitive_features": "group", "sample_weight": "weight", "clusters": "cluster"}
NAMES = tuple(name for name, word in WORDS.items() if word.names_column)
ENDS = ("time", "event")
# What fit has settled: rows that maps are judged on are taken as it took its own.
SETTLED = {
    name: f"fit has settled it, and the maps know it.\nHint: leave it out, or say it to fit, {name}=..."
    for name in ("bands", "unknown", "missing_group", "groups", "min_group")
}


def is_said(name: str, value: Any) -> bool:
    """Whether a word says something: its default says nothing, and None never does."""
    default = WORDS[name].default if name in WORDS else None
    return value is not None and not (isinstance(value, str | bool | int | float) and value == default)


def first_said(rows: Mapping[str, Any], names: Iterable[str] = WORDS) -> str | None:
    """Name the first of some words that says something; None where all are silent."""
    return next((name for name in names if is_said(name, rows.get(name))), None)


def without(rows: Mapping[str, Any], names: Iterable[str]) -> Said:
    """Leave words out."""
    gone = set(names)
    return Said(**{name: value for name, value in rows.items() if name not in gone})  # type: ignore[typeddict-item]


# What other tools and papers call a word of ours, and how ours is given.
_ELSEWHERE = {"alpha": ("top", "0.1, or top=200 for so many rows"), "region": ("top_of", "'all' or 'group'")}


def near(name: str, words: Collection[str]) -> str:
    """Guess which word was meant, in a line for an error; empty where none is near."""
    from difflib import get_close_matches  # loads much, and most runs have nothing misspelt

    ours, given = _ELSEWHERE.get(name, ("", ""))
    if ours in words:
        return f"\nHint: here it is called {ours}: {ours}={given}."
    found = get_close_matches(name, list(words), n=1, cutoff=0.6)
    return f"\nHint: did you mean {found[0]}?" if found else ""
