"""What is taken unless something else is said, and the words that options may be: each stands here once."""

from typing import Literal

# How sure an interval is.
LEVEL = 0.95

# Whether a tie between a positive and a negative is no win (the paper) or half of one (scikit-learn).
Ties = Literal["strict", "half"]
TIES: tuple[Ties, ...] = ("strict", "half")

# Whether the top alpha is that of all rows or of each group.
Region = Literal["pooled", "group"]
REGIONS: tuple[Region, ...] = ("pooled", "group")

# Whether a weight is so many rows, or how much one row counts. Unless it is said, the second.
Weights = Literal["frequency", "importance"]
WEIGHTS = ("frequency", "importance")

# What becomes of rows that no map belongs to: an error, the score as it is, or no score.
Unmapped = Literal["error", "keep", "null"]
UNMAPPED = ("error", "keep", "null")

# What a high score does to the person who has it: help (screening, an offer) or harm (a denial, an arrest).
Meaning = Literal["help", "harm"]
MEANINGS = ("help", "harm")

# How the column with the new score is called, where nothing else is said: that of the score and this.
ADJUSTED = "_adjusted"
