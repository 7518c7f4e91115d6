"""Gaps of every two groups before and after a repair, each with its interval."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from fairpot.display.display import Display, look, make_axes, named
from fairpot.display.estimates import draw_intervals

_MOST = 20  # pairs that fit into a picture


class GapChangeDisplay(Display):
    """Draw the signed gap of every pair of groups before and after, the largest first.

    The columns are ``first``, ``second``, ``state`` ("before", "after"), ``gap`` (positive where the first group is
    ranked higher), ``low`` and ``high``; NaN where there is no interval.

    Examples
    --------
    >>> import fairpot
    >>> from fairpot.display import GapChangeDisplay
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
    >>> score = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10
    >>> lifted = [s + 0.2 * (g == "F") for s, g in zip(score, sex)]
    >>> found = fairpot.effect(y, before=score, after=lifted, sensitive_features=sex)
    >>> GapChangeDisplay.from_effect(found).where(state="before")["gap"]
    array([0.25])
    """

    @classmethod
    def from_effect(cls, effect: Any) -> Self:
        """Make the display of what :func:`fairpot.effect` found.

        Parameters
        ----------
        effect : Effect
            What :func:`fairpot.effect` returned.

        Returns
        -------
        The display; ``plot`` draws it.

        Examples
        --------
        >>> from fairpot import FairPOT, effect
        >>> from fairpot.display import GapChangeDisplay
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> repair = FairPOT(lam=0.5).fit(score, y, sensitive_features=group)
        >>> shown = GapChangeDisplay.from_effect(effect(repair, score, y, sensitive_features=group))
        """
        both = zip(effect.before["gaps"], effect.after["gaps"])
        known = [pair for pair in both if all(each["signed_gap"] is not None for each in pair)]
        known.sort(key=lambda pair: -abs(pair[0]["signed_gap"]))
        rows = [(state, each) for pair in known for state, each in zip(("before", "after"), pair)]
        return cls(
            {
                "first": np.array([str(each["first"]) for _, each in rows], dtype=object),
                "second": np.array([str(each["second"]) for _, each in rows], dtype=object),
                "state": np.array([state for state, _ in rows], dtype=object),
                "gap": np.array([float(each["signed_gap"]) for _, each in rows]),
                "low": np.array([_end(each["signed_gap"], "low") for _, each in rows]),
                "high": np.array([_end(each["signed_gap"], "high") for _, each in rows]),
            }
        )

    @classmethod
    def from_audit(cls, audit: Any) -> Self:
        """Make the display of what :func:`fairpot.audit` found: gaps as they are, of the top where one was asked for.

        Parameters
        ----------
        audit : Audit
            What :func:`fairpot.audit` returned.

        Returns
        -------
        The display; ``plot`` draws it.

        Examples
        --------
        >>> from fairpot import audit
        >>> from fairpot.display import GapChangeDisplay
        >>> from fairpot.datasets import make_synthetic
        >>> data = make_synthetic(600, random_state=0, as_frame=False)
        >>> score, y, group = data.probability, data.target, data.group
        >>> shown = GapChangeDisplay.from_audit(audit(y, score, sensitive_features=group))
        """
        partial = audit.summary["partial"]
        top = partial[0] if isinstance(partial, list) and partial else partial
        known = [pair for pair in (top or audit.summary)["gaps"] if pair["signed_gap"] is not None]
        known.sort(key=lambda pair: -abs(pair["signed_gap"]))
        return cls(
            {
                **{name: np.array([str(each[name]) for each in known], dtype=object) for name in ("first", "second")},
                "state": np.array(["before"] * len(known), dtype=object),
                "gap": np.array([float(each["signed_gap"]) for each in known]),
                **{end: np.array([_end(each["signed_gap"], end) for each in known]) for end in ("low", "high")},
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw one line for each pair; ``ax`` is one of matplotlib's axes, None makes new ones."""
        [axes] = make_axes(ax)
        pairs = list(dict.fromkeys(zip(self.columns["first"].tolist(), self.columns["second"].tolist())))[:_MOST]
        states = list(dict.fromkeys(self.columns["state"].tolist()))
        for place, state in enumerate(states):
            found = [self.where(first=first, second=second, state=state) for first, second in pairs]
            gap, low, high = (np.array([each[name][0] for each in found]) for name in ("gap", "low", "high"))
            heights = np.arange(len(pairs)) + 0.12 * (2 * place - 1) * (len(states) > 1)
            style = look(place, marked=True) | {"linestyle": "none"}
            draw_intervals(axes, gap, heights, low, high, label=state, **style)
        axes.axvline(0.0, color="0.6", linewidth=0.8, zorder=0)
        axes.set_yticks(range(len(pairs)), [f"{named(first)} over {named(second)}" for first, second in pairs])
        axes.invert_yaxis()
        axes.set_xlabel("gap: xAUC of the first over the second, minus the reverse")
        if len(states) > 1:
            axes.legend()
        return axes


def _end(gap: Any, name: str) -> float:
    """Read one end of an interval; NaN where there is none."""
    end = getattr(gap, name, None)
    return float("nan") if end is None else float(end)
