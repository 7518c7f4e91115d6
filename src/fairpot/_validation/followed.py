"""Follow-up: until when each row was followed, how it ended, and the horizon at which outcomes are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairpot._arguments import argument
from fairpot._defaults import FEWEST, LEAVING, Leaving
from fairpot._validation import wording
from fairpot._validation.columns import as_column, missing
from fairpot._validation.values import as_double, check_choice, check_scores, is_number


class AfterTime(NamedTuple):
    """What is said of outcomes after a time, as it came, or checked; where nothing is said, all are None.

    Checked events are 0 (left without the outcome), 1 (the outcome) or 2 (a competing event).
    """

    time: Any = None
    event: Any = None
    horizon: Any = None
    competing: Any = None
    leaving: Any = None


NOT_AFTER_TIME = AfterTime()


def check_after_time(said: AfterTime, **others: Any) -> bool:
    """Check that what is said of outcomes after a time goes together, without ``others``; whether anything is said."""
    given = [name for name, value in said._asdict().items() if value is not None]
    if not given:
        return False
    lacking = next((name for name in ("time", "event", "horizon") if name not in given), None)
    if lacking is not None:
        told = f"{argument(given[0])} is given without {argument(lacking)}; time, event and horizon go together."
        raise TypeError(f"{told}\nHint: add {argument(lacking, ...)}")
    label = next((name for name, value in others.items() if value is not None), None)
    if label is not None:
        told = f"{argument('event')} says who had the outcome, and so does {argument(label)}"
        raise TypeError(f"{told}.\nHint: leave one of them out.")
    if check_horizon(said.horizon) <= 0:
        raise ValueError(f"{argument('horizon')} must be above 0, got {said.horizon!r}.\nHint: times count from 0 on.")
    check_leaving(said.leaving)
    return True


def check_followed(
    said: AfterTime, rows: int, names: Sequence[str] = ("time", "event"), by: str = "horizon"
) -> AfterTime:
    """Check columns of times and events, and that follow-up and an outcome reach the horizon, in messages ``by``.

    Without events every row had the outcome, at any number; without a horizon, up to the last.
    """
    time = check_scores(said.time, names[0], "time")
    if len(time) != rows:
        raise ValueError(wording.other_length(names[0], len(time), rows))
    if said.event is not None and (below := int((time < 0).sum())):
        raise ValueError(f"{names[0]} has {wording.counted(below, 'negative row')}.\nHint: count times from 0 on.")
    event = np.ones(rows, np.int8) if said.event is None else check_events(said.event, rows, names[1], said.competing)
    horizon = float(time.max()) if said.horizon is None else check_horizon(said.horizon, by)
    hint, had, wrong = f"give it in the unit of {names[0]}, within its follow-up", time[event == 1], None
    if horizon > time.max():
        wrong = f"is after the last follow-up, which ended at {time.max():g}"
    elif len(had) == 0:
        wrong, hint = "can have no outcomes: no row had the event", "code it 1 where the outcome happened"
    elif horizon < had.min():
        wrong = f"is before the first row had the outcome, at {had.min():g}"
    if wrong is not None:
        raise ValueError(f"{argument(by, horizon)} {wrong}.\nHint: {hint}.")
    return AfterTime(time, event, horizon, said.competing is not None, check_leaving(said.leaving))


def check_horizon(horizon: Any, name: str = "horizon") -> float:
    """Check a time up to which outcomes count."""
    if not is_number(horizon) or not np.isfinite(horizon):
        told = f"{argument(name)} must be a number in the unit of the times, got {wording.got(horizon)}."
        raise ValueError(f"{told}\nHint: give the time by which the outcome must have come, such as 365 for days.")
    return as_double(horizon)


def check_leaving(leaving: Any) -> Leaving:
    """Check what leaving early is said to depend on; unless something is said, on group and score."""
    return "score" if leaving is None else LEAVING[LEAVING.index(check_choice(leaving, "leaving", LEAVING))]


def check_events(event: Any, rows: int, name: str, competing: Any = None) -> NDArray[np.int8]:
    """Check how follow-up ended, in numbers, booleans or text: 0 without the outcome, 1 with it, 2 in another event."""
    array = as_column(event, name)
    if len(array) != rows:
        raise ValueError(wording.other_length(name, len(array), rows))
    gone = missing(array)
    if gone.any():
        raise ValueError(wording.missing_labels(name, int(gone.sum())))
    found = Counter(array.tolist())
    codes = {"0": 0, "false": 0, "1": 1, "true": 1}
    values, texts = wording.in_order(set(found)), {value: _text(value) for value in found}
    if competing is not None:
        if _text(competing) in codes:
            told = f"{argument('competing', competing)} has a meaning of its own in {name}"
            raise ValueError(f"{told}.\nHint: name the code of another event.")
        if _text(competing) not in texts.values():
            told = f"{argument('competing', competing)} is not in {name}, which holds {wording.listed(values)}"
            raise ValueError(f"{told}.\nHint: name one of these, or leave it out.")
        codes[_text(competing)] = 2
    odd, met = [value for value in values if texts[value] not in codes], {codes.get(text) for text in texts.values()}
    if odd:
        hint = "code it so: 1 for rows that had the outcome, 0 for those whose follow-up ended without it"
        if competing is not None and {0, 1} <= met:
            hint = "give every competing event the same code"
        elif competing is None and len(odd) == 1 and 0 in met:
            hint = f"if it is a competing event, such as death before the outcome: {argument('competing', *odd)}"
        known = "0 or 1" if competing is None else f"0, 1 or {competing}"
        said = f"{wording.counted(sum(found[value] for value in odd), 'row')} with {wording.listed(odd)}"
        raise ValueError(f"{name} must be {known}, got {said}.\nHint: {hint}.")
    coded = {value: codes[text] for value, text in texts.items()}
    return np.fromiter(map(coded.__getitem__, array.tolist()), np.int8, rows)


def check_known(groups: Sequence[Hashable], known: Sequence[NDArray[Any]], horizon: float) -> None:
    """Refuse a horizon where too little is known; ``known``: the rows of each group with the outcome, then without."""
    needed = min(len(groups), 2)
    group, *both = sorted(zip(groups, *known), key=lambda each: -min(each[1:]))[needed - 1]
    if min(both) < FEWEST - 1e-9:
        few, others = map(wording.shown_rows, both)
        worth = f"group {group!r} is worth {few} rows with the outcome and {others} without it"
        raise ValueError(
            f"{argument('horizon', horizon)} leaves too few rows for any interval: {worth}.\n"
            f"Hint: choose another horizon, in the unit of the times, or add rows; {needed} groups need at least "
            f"{FEWEST} of each."
        )


def _text(value: Any) -> str:
    return str(value).strip().lower().removesuffix(".0")
