"""The curve with its band: limits at each value of a dial, and limits that hold at all values together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fairpot._optional import make_frame
from fairpot.inference.checks import check_level
from fairpot.inference.dial import DialEstimates
from fairpot.inference.limits import fold
from fairpot.inference.placements import Floats
from fairpot.inference.simultaneous import joint_tail


class Ribbon(NamedTuple):
    """A number along a dial: ``low`` and ``high`` hold at each value, ``low_all`` and ``high_all`` at all together."""

    value: Floats
    low: Floats
    high: Floats
    low_all: Floats
    high_all: Floats


@dataclass(frozen=True, eq=False)
class Band:
    """AUC and gap over a dial with limits.

    Attributes
    ----------
    values : array of shape (k,)
        Values of the dial.
    auc, gap : Ribbon
        Each with ``value``, ``low``, ``high`` (right at each value with probability ``level``) and ``low_all``,
        ``high_all`` (right at all values together). The gap is the largest over pairs.
    level : float
    dial : str
        What the dial is called.
    reason : str or None
        Why no limits are honest, if none are; they are NaN then.
    """

    values: Floats
    auc: Ribbon
    gap: Ribbon
    level: float
    dial: str = "lam"
    reason: str | None = None

    def __len__(self) -> int:
        return len(self.values)

    def frame(self) -> Any:
        """Return the band as a tidy frame (pandas, Polars or PyArrow, whichever is in use)."""
        columns = {
            name if field == "value" else f"{name}_{field}": getattr(ribbon, field)
            for name, ribbon in (("auc", self.auc), ("gap", self.gap))
            for field in Ribbon._fields
        }
        return make_frame({self.dial: self.values} | columns)


def band_of(dial: DialEstimates, level: float = 0.95, name: str = "lam") -> Band:
    """Put limits around the estimates of a dial.

    Parameters
    ----------
    dial : DialEstimates
    level : float, default 0.95
    name : str, default "lam"
        What the dial is called.

    Returns
    -------
    Band
    """
    tail = (1 - check_level(level)) / 2
    if dial.reason is not None:
        none = np.full(len(dial), np.nan)
        auc, gap = (Ribbon(value, none, none, none, none) for value in (dial.auc.value, dial.gap))
        return Band(dial.values, auc, gap, level, name, dial.reason)
    together = joint_tail(dial.auc.covariance, tail)
    auc = Ribbon(dial.auc.value, *dial.auc.limits(tail), *dial.auc.limits(together))
    together = joint_tail(dial.gaps.covariance, tail)
    gap = Ribbon(dial.gap, *_largest(dial, tail), *_widest(dial, together))
    return Band(dial.values, auc, gap, level, name)


def _widest(dial: DialEstimates, tail: float) -> tuple[Floats, Floats]:
    """Limit the largest gap at each value by limits that hold for all pairs."""
    low, high = (side.reshape(len(dial), dial.many) for side in fold(*dial.gaps.limits(tail)))
    return low.max(axis=1), high.max(axis=1)


def _largest(dial: DialEstimates, tail: float) -> tuple[Floats, Floats]:
    """Limit the largest gap at each value; of several pairs only the lower limit pays for their number."""
    low, high = _widest(dial, tail)
    if dial.many == 1:
        return low, high
    gaps, many = dial.gaps, dial.many
    blocks = [gaps.covariance[k : k + many, k : k + many] for k in range(0, len(gaps), many)]
    tails = np.repeat([joint_tail(block, tail) for block in blocks], many)
    return fold(*gaps.limits(tails))[0].reshape(len(dial), many).max(axis=1), high
