"""Which group stays as it is: Appendix A of the paper, for any number of groups."""

from collections.abc import Hashable

import numpy as np

from fairpot.metrics._wins import Ties, WinMatrix
from fairpot.table import ScoreTable


def advantaged_group(table: ScoreTable, ties: Ties) -> Hashable:
    """Name the group whose positives are ranked above the others' negatives most often, net of the reverse.

    Of two groups that is the one with the higher xAUC; of equals the first in the table's order.
    """
    for what, counts in (("positives", table.positives), ("negatives", table.negatives)):
        empty = [group for group, count in zip(table.groups, counts) if count == 0]
        if empty:
            raise ValueError(
                f"the disadvantaged group cannot be told: group {empty[0]!r} has no {what} to compare.\n"
                "Hint: name the group that stays as it is, reference=..."
            )
    xauc = WinMatrix.of(table, ties).xauc()
    return table.groups[int(np.argmax((xauc - xauc.T).sum(axis=1)))]
