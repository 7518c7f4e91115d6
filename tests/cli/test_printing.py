"""Tables on narrow screens."""

from fairpot.cli._printing import fitting


def test_numbers_are_never_cut():
    columns = ["group", *(f"column {i}" for i in range(12))]
    rows = [["a group of a long name", *(f"0.{i:04d}" for i in range(12))]]
    parts = fitting(columns, rows, 1, 80)
    assert sorted(place for part in parts for place in part[1:]) == list(range(1, 13))
    assert all(part[0] == 0 for part in parts)
    assert len(parts) > 1
