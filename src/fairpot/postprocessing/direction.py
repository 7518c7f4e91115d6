"""Which group stays as it is: Appendix A of the paper, for any number of groups."""

from collections.abc import Hashable

import numpy as np

from fairpot._arguments import argument
from fairpot._validation import check_group_name
from fairpot.metrics.wins import Ties, WinMatrix
from fairpot.table import ScoreTable


def advantaged_group(table: ScoreTable, ties: Ties) -> Hashable:
    """Name the group whose positives are ranked above the others' negatives most often, net of the reverse.

    Of two groups that is the one with the higher xAUC; of equals the first in the table's order.
    """
    for what, totals in (("positives", table.positives), ("negatives", table.negatives)):
        empty = [group for group, count in zip(table.groups, totals) if count == 0]
        if empty:
            raise ValueError(
                f"the disadvantaged group cannot be told: group {empty[0]!r} has no {what} to compare.\n"
                f"Hint: name the group that stays as it is, {argument('reference', ...)}"
            )
    won = WinMatrix.of(table, ties).xauc()
    lead = np.zeros(len(table.groups))
    for other in (won - won.T).T:  # in this order whatever the number of groups, so that equals stay equal
        lead += other
    return table.groups[int(np.argmax(lead))]


def find_reference(table: ScoreTable, reference: Hashable | None, ties: Ties) -> Hashable:
    """Return the group that stays as it is: the one named, or the advantaged one."""
    if reference is None:
        return advantaged_group(table, ties)
    return check_group_name(reference, table.groups, "reference")


def require_outcomes(table: ScoreTable) -> None:
    """Insist on positives and negatives in the whole and in every group."""
    for what, counts in (("positives", table.positives), ("negatives", table.negatives)):
        if counts.sum() == 0:
            raise ValueError(f"{argument('y')} has no {what}: both outcomes are needed to compare.")
        empty = [group for group, count in zip(table.groups, counts) if count == 0]
        if empty:
            raise ValueError(
                f"group {empty[0]!r} has no {what}: its xAUC cannot be measured, so there is nothing to fit.\n"
                "Hint: join it with another group, or collect more rows of it."
            )
