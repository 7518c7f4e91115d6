"""Who gains and who loses by a repair where is acted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any, Literal

from fairpot._defaults import Meaning
from fairpot._shown import Bar, ShownBars, ends_of
from fairpot.auditing import words
from fairpot.auditing.measures import listed, rates
from fairpot.inference import Estimate, rates_at
from fairpot.table import ScoreTable

# The share of the ranking that is looked at where nobody says where is acted.
SHARE = 0.1
_WHEN, _ENDS = ("before", "after"), ("", "_low", "_high")


@dataclass(frozen=True, repr=False)
class Action(ShownBars):
    """Who is acted on at a threshold or in a top share, before and after a repair, by group and outcome.

    Attributes
    ----------
    threshold : float or None
        Those with this score or a riskier one are acted on; on the rows' own scale.
    alpha : float or None
        Or so large a share of the ranking.
    groups : list of dict
        ``group``, ``positives``, ``negatives``, of which acted on ``yes_before``, ``yes_after``, ``no_before``,
        ``no_after``; ``valence`` is "gains", "loses" or None: by what a high score does, if that was said.
    lower_is_riskier : bool
    limits : list of dict
        For each group the limits of the rates, by the same names as the counts; empty where none were computed.
    """

    threshold: float | None
    alpha: float | None
    groups: list[dict[str, Any]]
    lower_is_riskier: bool = False
    limits: Sequence[Mapping[str, Estimate]] = ()

    def __repr__(self) -> str:
        return f"<Action {words.where(self)}: {len(self.groups)} groups, before and after>"

    @property
    def sentences(self) -> list[str]:
        """One for each group."""
        return words.acted_on(self)

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per group and outcome, with rates before and after."""
        found = []
        for place, each in enumerate(self.groups):
            known = self.limits[place] if self.limits else {}
            for outcome, side, total in (("with", "yes", "positives"), ("without", "no", "negatives")):
                before, after, of = each[f"{side}_before"], each[f"{side}_after"], each[total]
                found.append(
                    {
                        "acted on": words.where(self),
                        "group": each["group"],
                        "outcome": outcome,
                        "rows": of,
                        "before": before,
                        "after": after,
                    }
                )
                for when in ("before", "after"):
                    rate = known.get(f"{side}_{when}")
                    share = each[f"{side}_{when}"] / of if of else None
                    found[-1] |= {**ends_of(f"share_{when}", rate), f"share_{when}": share}
        return found

    @property
    def shares(self) -> tuple[float, float]:
        """How much of the list is acted on, before and after."""
        total = sum(each["positives"] + each["negatives"] for each in self.groups) or 1
        both = (sum(each[f"{side}_{when}"] for each in self.groups for side in ("yes", "no")) for when in _WHEN)
        before, after = (acted / total for acted in both)
        return before, after

    def _listed(self) -> list[dict[str, Any]]:
        return self.rows()

    def _bars(self) -> list[Bar]:
        return [
            Bar(
                f"{row['group']}, {row['outcome']}, {when}",
                *(nan if row[f"share_{when}{end}"] is None else row[f"share_{when}{end}"] for end in _ENDS),
            )
            for row in self.rows()
            for when in _WHEN
        ]

    def _says(self) -> list[str]:
        return [
            f"Who is acted on {words.where(self)}: share of each group and outcome, with 95% intervals",
            *self.sentences,
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {"threshold": self.threshold, "alpha": self.alpha, "groups": self.groups}


def actions(before: ScoreTable, after: ScoreTable, threshold: Any, alpha: float | None) -> list[Action]:
    """Count who is acted on before and after: at each threshold, in the top share, else in the top tenth."""
    sign = -1.0 if before.lower_is_riskier else 1.0
    found = [_action(before, after, float(each), None, sign * float(each)) for each in listed(threshold)]
    shares = [alpha] if alpha is not None else [] if found else [SHARE]
    return [*found, *(_action(before, after, None, each) for each in shares)]


def _action(
    before: ScoreTable, after: ScoreTable, own: float | None, alpha: float | None, threshold: float | None = None
) -> Action:
    tables, limits = [], []
    for table in (before, after):
        at = next(iter(table.thresholds(alpha).values())) if alpha is not None else threshold
        assert at is not None
        tables.append(rates(table, at)["groups"])
        limits.append(rates_at(table, at))
    groups = [_counted(first, second, before.ranked_high_means) for first, second in zip(*tables)]
    known = [
        {"yes_before": was.tpr, "yes_after": now.tpr, "no_before": was.fpr, "no_after": now.fpr}
        for was, now in zip(*limits)
    ]
    return Action(own, alpha, groups, before.lower_is_riskier, known)


def _counted(before: dict[str, Any], after: dict[str, Any], means: Meaning | None) -> dict[str, Any]:
    more = after["flagged"] - before["flagged"]
    valence: Literal["gains", "loses"] | None = None
    if means is not None and more:
        valence = "gains" if (more > 0) == (means == "help") else "loses"
    return {
        "group": before["group"],
        "positives": before["positives"],
        "negatives": before["negatives"],
        "yes_before": before["flagged_positives"],
        "yes_after": after["flagged_positives"],
        "no_before": before["flagged_negatives"],
        "no_after": after["flagged_negatives"],
        "valence": valence,
    }


def own_scale_moves(found: list[dict[str, Any]], lower_is_riskier: bool) -> list[dict[str, Any]]:
    """Give who moves up and down, and how far, on the scale of the rows' own scores."""
    if not lower_is_riskier:
        return found
    turned = {"mean_shift", "mean_shift_of_all"}
    return [
        {**each, "up": each["down"], "down": each["up"], **{name: 0.0 - each[name] for name in turned}}
        for each in found
    ]
