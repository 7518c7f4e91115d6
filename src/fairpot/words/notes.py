"""Note: what may mislead, judged where a result is made, as data; and the sentence for each kind, here alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from fairpot._arguments import argument
from fairpot._validation import wording
from fairpot.words.style import FRACTIONS, Style, share

Kind = Literal[
    "left out",
    "small",
    "small and moved",
    "reversed",
    "constant",
    "chance",
    "two values",
    "missing pairs",
    "not probabilities",
    "ties auc",
    "ties gap",
    "ties disagree",
    "too many groups",
    "calibration lost",
    "small reference",
    "same rows",
    "no difference",
    "coarse",
    "lower is riskier",
    "said",
]
CHANCE = ("reversed", "constant", "chance")  # that a score is not shown to rank the outcome better than chance
SMALL = 30  # fewer rows with or without the outcome than this say little
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
    alpha: float | None = None
    value: float | None = None
    other: float | None = None
    pairs: tuple[tuple[Annotated[Hashable, "group"], Annotated[Hashable, "group"]], ...] = ()
    said: str = ""

    @property
    def text(self) -> str:
        """The note in words, as terminal and Python write numbers."""
        return written(self)


def written(note: Note, style: Style = FRACTIONS, outcome: str = "the outcome") -> str:
    """Say a note in words."""
    return _WRITERS[note.kind](note, style, outcome)


def _small(note: Note, style: Style, outcome: str) -> str:
    where = "" if note.alpha is None else f" in the top {share(note.alpha)}"
    both = ((note.value, f"with {outcome}"), (note.other, f"without {outcome}"))
    empty = [what for number, what in both if number == 0]
    if empty:
        return f"{note.group} has no rows {' and none '.join(empty)}{where}: what depends on them cannot be measured."
    few = [(number, what) for number, what in both if number is not None and number < SMALL]
    (number, what), *more = few
    if note.said == "weighted":
        worth = f"{number:.3g} equal ones" + "".join(f", those without it {n:.3g}" for n, _ in more)
        return (
            f"the weights of {note.group} are uneven: its rows {what}{where} are worth only {worth} (under {SMALL}). "
            "Do not act on numbers that depend on them."
        )
    cells = wording.counted(number, f"row {what}", ".3g") + "".join(f" and {n:.3g} without it" for n, _ in more)
    return f"{note.group} has only {cells}{where} (under {SMALL}). Do not act on numbers that depend on them."


def _small_and_moved(note: Note, style: Style, outcome: str) -> str:
    leave = argument("min_group", ...)
    return (
        f"The repair also moves {note.group}, which is too small to be compared: {leave} leaves its scores as they are."
    )


def _left_out(note: Note, style: Style, outcome: str) -> str:
    return f"{note.group} is left out of the comparison ({wording.shown_rows(note.value or 0.0)} rows)."


def _reversed(note: Note, style: Style, outcome: str) -> str:
    said = argument("lower_is_riskier", True)
    swapped = f"if 0 and 1 are swapped, name the outcome that is 1 ({argument('pos_label', ...)})."
    auc = f"AUC is {note.value:.4f}"
    if note.other:  # low scores mean high risk
        return (
            f"{auc}, below 0.5: with {said}, rows with the outcome have higher scores than rows without it.\n"
            f"Hint: if a high score means high risk, leave {said} out; {swapped}"
        )
    return (
        f"{auc}, below 0.5: rows with the outcome have lower scores than rows without it.\n"
        f"Hint: if a low score means high risk, say so ({said} where rows are counted); {swapped}"
    )


def _chance(note: Note, style: Style, outcome: str) -> str:
    where = "The score" if note.group is None else f"In {note.group} the score"
    low = "" if note.other is None else f" and could be as low as {note.other:.3f}"
    return f"{where} is not shown to be better than chance: its AUC is {note.value:.3f}{low}."


def _two_values(note: Note, style: Style, outcome: str) -> str:
    return (
        f"the scores have two values only, {note.value:g} and {note.other:g}: these look like predictions, not "
        "scores.\nHint: pass the model's probabilities or decision values, such as predict_proba(X)[:, 1]."
    )


def _missing_pairs(note: Note, style: Style, outcome: str) -> str:
    lost = [f"{first} and {second}" for first, second in note.pairs]
    named = "; ".join(lost[:_LISTED]) + (f"; and {len(lost) - _LISTED} more" if len(lost) > _LISTED else "")
    of = f"{len(lost)} of {note.value:g}"
    return f"the gap leaves out {of} pairs of groups, which cannot be measured: {named}."


def _ties(note: Note, style: Style, outcome: str) -> str:
    name, write, of = ("AUC", style.auc, "") if note.kind == "ties auc" else ("overall gap", style.gap, style.of)
    strict, half = write(note.value), write(note.other)
    return f"ties matter: the {name} is {strict}{of} if a tie is no win, {half} if it is half of one."


def _ties_disagree(note: Note, style: Style, outcome: str) -> str:
    return (
        f"ties matter: AUC changes by {note.value:+.4f} if a tie is half a win, by {note.other:+.4f} if it is none; "
        "one of them shows a loss as a gain."
    )


def _calibration_lost(note: Note, style: Style, outcome: str) -> str:
    was, now = note.value or 0.0, note.other or 0.0
    ends = f"({was:.3f} -> {now:.3f})"
    said = f"gets {now / was:.1f} times worse {ends}" if was > 0.0005 else f"is lost {ends}"
    if note.said == "calibrated":
        means, hint = "right over all rows, its scores are not in this group", ""
    else:
        means = "its scores are no longer probabilities of the outcome"
        hint = f" Hint: {argument('keep', 'probabilities')} makes them some again over all rows."
    return f"calibration of {note.group} {said}: {means}.{hint}"


def _small_reference(note: Note, style: Style, outcome: str) -> str:
    fixed, rows = (wording.shown_rows(each or 0.0) for each in (note.value, note.other))
    return (
        f"the reference {note.said} ({fixed} rows) is small beside {note.group} ({rows}): most rows are moved to where "
        f"a few are. Hint: {argument('reference', ...)} names another group."
    )


def _too_many_groups(note: Note, style: Style, outcome: str) -> str:
    hint = f"{argument('groups', ...)} or {argument('min_group', ...)} compares fewer."
    return f"no intervals: {note.value:g} groups are more than the {note.other:g} that are taken together. Hint: {hint}"


def _same_rows(note: Note, style: Style, outcome: str) -> str:
    if note.value is not None:
        bound = f"{style.bound(note.value)}{style.of}"
        return (
            f"These are the rows that the repair was fitted on: on new ones expect a gap up to the certified {bound}."
        )
    return "These are the rows that the repair was fitted on: on new ones expect a larger gap and a lower AUC."


_SAID: dict[str, str] = {
    "constant": "All scores are {value:g}: they rank nobody.",
    "not probabilities": "calibration is not measured: scores run from {value:g} to {other:g}, and are not "
    "probabilities.",
    "no difference": "These rows do not show a difference, so a repair has nothing to make smaller here.",
    "coarse": "There are so many distinct scores that rows are counted in {value:,.0f} bins of scores.",
    "lower is riskier": "A low score means high risk here: flagged is who has the threshold or less.",
}


def _fixed(note: Note, style: Style, outcome: str) -> str:
    return _SAID[note.kind].format(value=note.value, other=note.other)


_WRITERS: dict[str, Callable[[Note, Style, str], str]] = {
    "left out": _left_out,
    "small": _small,
    "small and moved": _small_and_moved,
    "reversed": _reversed,
    "chance": _chance,
    "two values": _two_values,
    "missing pairs": _missing_pairs,
    "ties auc": _ties,
    "ties gap": _ties,
    "ties disagree": _ties_disagree,
    "too many groups": _too_many_groups,
    "calibration lost": _calibration_lost,
    "small reference": _small_reference,
    "same rows": _same_rows,
    "said": lambda note, style, outcome: note.said,
} | dict.fromkeys(_SAID, _fixed)
