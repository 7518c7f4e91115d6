"""What was a method of fairpot once, and where it is now."""

# By the names of their classes.
MOVED = ("PostLogit", "XOrder")
WHERE = "is a baseline of the paper: install its package, pip install ./paper, in the folder of fairpot"
