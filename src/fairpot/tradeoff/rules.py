"""What a strength is chosen by: bounds on gap and cost, net benefit at a threshold; and where the top of a list is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairpot._arguments import argument
from fairpot._validation import as_double, check_share, is_number


@dataclass(frozen=True)
class Rule:
    """What a strength is chosen by.

    Examples
    --------
    >>> Rule(max_gap=0.05).in_words("among the 200 highest")
    'the highest AUC with a gap of at most 0.05 among the 200 highest'
    >>> Rule(max_gap=0.05, net_benefit_at=0.3).in_words()
    'the highest net benefit at 0.3 with a gap of at most 0.05'
    >>> Rule().in_words("in the top 10%")
    'the smallest gap in the top 10%'
    """

    max_gap: float | None = None  # the largest gap, and the largest loss of AUC
    max_auc_loss: float | None = None
    net_benefit_at: float | None = None  # the threshold at which is acted: net benefit there takes the place of AUC

    def checked(self) -> Rule:
        """Insist on numbers that mean something, and on rules that go together."""
        for name in ("max_gap", "max_auc_loss"):
            if getattr(self, name) is not None:
                check_share(getattr(self, name), name, zero=True)
        if self.net_benefit_at is not None:
            _check_threshold(self.net_benefit_at)
            if self.max_gap is None:
                raise ValueError(
                    f"{argument('net_benefit_at', self.net_benefit_at)} takes the highest net benefit within a gap, "
                    f"and no gap is given.\nHint: add {argument('max_gap', 0.05)}."
                )
        return self

    @property
    def given(self) -> dict[str, float]:
        """The bounds that were set, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def in_words(self, where: str = "", confidence: float | None = None) -> str:
        """Say what the rule asks for, and in which part of the list."""
        where = f" {where}" if where else ""
        if self.max_gap is None:
            cost = "" if self.max_auc_loss is None else f" for at most {self.max_auc_loss:g} of AUC"
            return f"the smallest gap{where}{cost}"
        best = "AUC" if self.net_benefit_at is None else f"net benefit at {self.net_benefit_at:g}"
        bound = f"a gap of at most {self.max_gap:g}{where}"
        if confidence is not None:
            bound = f"a gap{where} that is at most {self.max_gap:g} with {100 * confidence:.4g}% confidence"
        loss = "" if self.max_auc_loss is None else f" and a loss of at most {self.max_auc_loss:g}"
        return f"the highest {best} with {bound}{loss}"


def _check_threshold(value: Any) -> None:
    hint = "Hint: name the probability from which on you act, such as 0.2."
    if not is_number(value):
        raise TypeError(f"net_benefit_at must be a number between 0 and 1, got {value!r}.\n{hint}")
    if not 0 < as_double(value) < 1:
        raise ValueError(f"net_benefit_at must lie between 0 and 1, both left out, got {value!r}.\n{hint}")
