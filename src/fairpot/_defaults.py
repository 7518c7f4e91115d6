"""What is taken unless something else is said, and the words that options may be: each stands here once."""

from typing import Literal

# How sure an interval is.
LEVEL = 0.95

# Fewer rows with or without the outcome than this say little. With fewer independent ones than the second on one side
# of a share, its spread cannot be seen: no interval.
SMALL, FEWEST = 30, 5
# So many rows in the smallest of its four cells carry a gap that is said first. Without a target, a gap that is surely
# at most the second is small, and one that is surely at most the third a trifle: conventions, so the bound is printed.
CARRIES = 10
MARGIN, TRIFLE = 0.10, 0.02
# With fewer independent rows than this in a cell, a rate or a quantile has no interval.
FEWEST_OF_RATES = 10

# Whether a tie between a positive and a negative is no win (the paper) or half of one (scikit-learn).
Ties = Literal["strict", "half"]
TIES: tuple[Ties, ...] = ("strict", "half")

# Whether a top is that of all rows or of each group.
TopOf = Literal["all", "group"]
TOPS_OF: tuple[TopOf, ...] = ("all", "group")

# Whether a weight is so many rows, or how much one row counts. Unless it is said, the second.
Weights = Literal["frequency", "importance"]
WEIGHTS = ("frequency", "importance")

# What becomes of rows that no map belongs to: an error, the score as it is, or no score.
Unmapped = Literal["error", "keep", "null"]
UNMAPPED = ("error", "keep", "null")

# What a high score does to the person who has it: help (screening, an offer) or harm (a denial, an arrest).
Meaning = Literal["help", "harm"]
MEANINGS = ("help", "harm")

# What leaving before the horizon may depend on: group and score, or the group alone. Unless it is said, the first.
Leaving = Literal["score", "group"]
LEAVING: tuple[Leaving, ...] = ("score", "group")

# How the column with the new score is called, where nothing else is said: that of the score and this.
ADJUSTED = "_adjusted"

# How many groups rows may have, how many are compared (one interval allows for all their pairs), and without outcomes.
MOST_GROUPS, MOST_COMPARED, MOST_SELECTED = 250, 20, 100
