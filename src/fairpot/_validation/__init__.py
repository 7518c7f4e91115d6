"""The one place where user input is checked. What leaves it is clean NumPy arrays."""

from fairpot._validation.checked_rows import Rows, check_rows
from fairpot._validation.columns import check_alignment, without_missing
from fairpot._validation.groups import (
    GroupFinder,
    check_clusters,
    check_group_name,
    check_groups,
    check_seen,
    place_groups,
)
from fairpot._validation.values import (
    as_double,
    check_choice,
    check_level,
    check_scores,
    check_share,
    check_threshold,
    check_top,
    check_whole,
    is_number,
    restore,
    swapped_values,
)

__all__ = [
    "GroupFinder",
    "Rows",
    "as_double",
    "check_alignment",
    "check_choice",
    "check_clusters",
    "check_group_name",
    "check_groups",
    "check_level",
    "check_rows",
    "check_scores",
    "check_seen",
    "check_share",
    "check_threshold",
    "check_top",
    "check_whole",
    "is_number",
    "place_groups",
    "restore",
    "swapped_values",
    "without_missing",
]
