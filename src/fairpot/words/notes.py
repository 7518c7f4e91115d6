"""Note: what may mislead, judged where a result is made, as data; and the sentence for each kind, here alone."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from fairpot._arguments import argument
from fairpot._defaults import SMALL
from fairpot._validation import wording
from fairpot.words.style import FRACTIONS, Style, among

Kind = Literal[
    "left out",
    "small",
    "small and moved",
    "reversed",
    "constant",
    "two values",
    "missing pairs",
    "not probabilities",
    "ties auc",
    "ties gap",
    "ties disagree",
    "larger left out",
    "unknown",
    "bounds",
    "no bounds",
    "calibration lost",
    "small reference",
    "horizon",
    "thinly followed",
    "follow-up lost",
    "outcomes missing",
    "outcome bounds",
    "no difference",
    "coarse",
    "lower is riskier",
    "weightless",
    "said",
]
# What outcomes depend on: who was followed for how long, and whose are known.
FOLLOWED = ("horizon", "thinly followed", "follow-up lost", "outcomes missing", "outcome bounds")
_LISTED = 6  # more pairs than these are counted, not listed


@dataclass(frozen=True)
class Note:
    """What may mislead: its kind, the group and the part of the list it is about, and its numbers.

    Examples
    --------
    >>> from fairpot.results import Note
    >>> Note("small", "F", value=12.0, other=400.0).text
    'F has only 12 rows with the outcome (under 30). Do not act on numbers that depend on them.'
    """

    derived: ClassVar[Mapping[str, Any]] = {"text": str}

    kind: Kind
    group: Annotated[Hashable, "group"] | None = None
    top: float | None = None
    value: float | None = None
    other: float | None = None
    pairs: tuple[tuple[Annotated[Hashable, "group"], Annotated[Hashable, "group"]], ...] = ()
    said: str = ""

    @property
    def text(self) -> str:
        """The note in words, as terminal and Python write numbers."""
        return written(self)


_WITHOUT = (
    "this gap is of those with outcomes. Of a row without an outcome ({rows}) and one with, the first has the higher "
    "score in {left} of pairs."
)
# What is said of each kind; names in braces are filled in. ``small`` and ``missing pairs`` are put together below.
_SAID: dict[str, str] = {
    "left out": "{group} is left out of the comparison ({rows} rows).",
    "small and moved": "The repair also moves {group}, which is too small to be compared: {min_group} leaves its "
    "scores as they are.",
    "reversed": "AUC is {value:.4f}, below 0.5: rows with the outcome have lower scores than rows without it.\n"
    "Hint: if a low score means high risk, say so ({turned} where rows are counted); if 0 and 1 are swapped, name the "
    "outcome that is 1 ({pos_label}).",
    "reversed, turned": "AUC is {value:.4f}, below 0.5: with {turned}, rows with the outcome have higher scores than "
    "rows without it.\nHint: if a high score means high risk, leave {turned} out; if 0 and 1 are swapped, name the "
    "outcome that is 1 ({pos_label}).",
    "constant": "All scores are {value:g}: they rank nobody.",
    "two values": "The scores have two values only, {value:g} and {other:g}: these look like predictions, not scores.\n"
    "Hint: pass the model's probabilities or decision values, such as predict_proba(X)[:, 1].",
    "missing pairs": "The gap leaves out {lost} of {value:g} pairs of groups, which cannot be measured: {pairs}.",
    "not probabilities": "Calibration is not measured: scores run from {value:g} to {other:g}, and are not "
    "probabilities.",
    "ties auc": "Ties matter: the AUC is {auc} if a tie is no win, {other_auc} if it is half of one.",
    "larger left out": "The overall gap leaves out groups that are too small to be compared: that of {first} over "
    "{second} goes from {other_gap} to {gap}, and is larger.",
    "ties gap": "Ties matter: the overall gap{between} is {gap} if a tie is no win, {other_gap} if it is half of one.",
    "ties disagree": "Ties matter: AUC changes by {value:+.4f} if a tie is half a win, by {other:+.4f} if it is none; "
    "one of them shows a loss as a gain.",
    "unknown": "{group} means that the group is not known: {rows} rows are measured apart, and compared with nobody.",
    "bounds": "If the groups of these rows were known, the overall gap of {first} over {second} could lie anywhere "
    "from {value:+.3f} to {other:+.3f}: these are bounds, not an interval.",
    "no bounds": "What the gap could be if the unknown groups were known is not bounded: that takes two groups, in one "
    "column, with rows of both outcomes.",
    "calibration lost": "Calibration of {group} {worse} ({value:.3f} -> {other:.3f}): its scores are no longer "
    "probabilities of the outcome. Hint: {keep} makes them probabilities again, over all rows.",
    "calibration lost, calibrated": "Calibration of {group} {worse} ({value:.3f} -> {other:.3f}): right over all rows, "
    "its scores are not in this group.",
    "small reference": "The reference {said} ({rows} rows) is small beside {group} ({other_rows}): most scores "
    "are moved towards those of a few rows. Hint: {reference} names another group.",
    "horizon": "Left before {value:g} without the outcome: {left}. The others stand for them, as if leaving depended "
    "on {depends} alone.",
    "thinly followed": "Only {few} of {group} are still followed at {other:g}: few rows stand for many. Expect wide "
    "intervals, and prefer an earlier horizon.",
    "follow-up lost": "{few} of the weight of {group} is lost: nobody with scores like theirs was followed for longer. "
    "Prefer an earlier horizon.",
    "outcomes missing": "{rows} rows have no outcome. Their scores do not visibly differ from the others'; this gap is "
    "of those with outcomes.",
    "outcomes missing, high": f"Outcomes are missing more often at high scores: {_WITHOUT}",
    "outcomes missing, low": f"Outcomes are missing more often at low scores: {_WITHOUT}",
    "outcomes missing, both": "Outcomes are missing more often at high scores in some groups and at low ones in "
    f"others: {_WITHOUT}",
    "outcome bounds": "Whatever those outcomes were, the overall gap of {first} over {second} lies between "
    "{value:+.3f} and {other:+.3f}: these are bounds, not an interval.",
    "no difference": "These rows do not show a difference, so a repair has nothing to make smaller here.",
    "coarse": "There are so many distinct scores that rows are counted in {value:,.0f} bins of scores.",
    "lower is riskier": "A low score means high risk here: flagged is who has the threshold or less.",
    "weightless": "{rows} of the rows have a weight of 0: they are in no count and no number.",
    "said": "{said}",
}


def written(note: Note, style: Style = FRACTIONS, outcome: str = "the outcome") -> str:
    """Say a note in words."""
    if note.kind == "small":
        return _small(note, outcome)
    value, other = note.value or 0.0, note.other or 0.0
    lost = [f"{first} and {second}" for first, second in note.pairs]
    more = f"; and {len(lost) - _LISTED} more" if len(lost) > _LISTED else ""
    return _SAID[_case(note)].format(
        **vars(note) | {"pairs": "; ".join(lost[:_LISTED]) + more},
        **{name: argument(name, ...) for name in ("min_group", "pos_label", "groups", "reference")},
        keep=argument("keep", "probabilities"),
        turned=argument("lower_is_riskier", True),
        lost=len(lost),
        **dict(zip(("first", "second"), next(iter(note.pairs), ()))),
        between=" of {} over {}".format(*note.pairs[0]) if note.pairs else "",
        rows=wording.shown_rows(value),
        other_rows=wording.shown_rows(other),
        auc=style.auc(value),
        other_auc=style.auc(other),
        gap=style.gap(value),
        other_gap=style.gap(other),
        bound=f"{value:g}",
        depends="the group" if note.said == "group" else "group and score",
        left=", ".join(f"{group} {left}" for group, left in note.pairs[:_LISTED]) + more,
        few=f"{value:.1%}",
        worse="is lost" if value <= 0.0005 else f"gets {other / value:.1f} times worse",
    )


def _case(note: Note) -> str:
    """Name the text of a note: some kinds have two."""
    second = {
        "reversed": ("turned", bool(note.other)),
        "calibration lost": ("calibrated", note.said == "calibrated"),
        "outcomes missing": (note.said, bool(note.said)),
    }
    name, meant = second.get(note.kind, ("", False))
    return f"{note.kind}, {name}" if meant else note.kind


def _small(note: Note, outcome: str) -> str:
    where = "" if note.top is None else f" {among(note.top)}"
    both = ((note.value, f"with {outcome}"), (note.other, f"without {outcome}"))
    empty = [what for number, what in both if number == 0]
    if empty:
        return f"{note.group} has no rows {' and none '.join(empty)}{where}: what depends on them cannot be measured."
    few = [(number, what) for number, what in both if number is not None and number < SMALL]
    (number, what), *more = few
    if note.said in ("weighted", "followed"):
        worth = f"{number:.3g} equal ones" + "".join(f", those without it {n:.3g}" for n, _ in more)
        why = "The weights of {} are uneven" if note.said == "weighted" else "Few rows of {} stand for many"
        return (
            f"{why.format(note.group)}: its rows {what}{where} are worth only {worth} (under {SMALL}). "
            "Do not act on numbers that depend on them."
        )
    more_of = "".join(f" and {n:.3g} without it" for n, _ in more)
    cells = wording.counted(number, f"row {what}", ".3g")
    if note.said == "clusters":
        cells = f"{number:.3g} cluster{'' if number == 1 else 's'} of rows {what}"
    return f"{note.group} has only {cells}{more_of}{where} (under {SMALL}). Do not act on numbers that depend on them."
