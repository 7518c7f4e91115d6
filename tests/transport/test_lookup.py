import numpy as np
import pytest

from fairpot.transport import ranks, run_ends
from fairpot.transport.lookup import blocks


@pytest.mark.parametrize("size", [1, 3, 20, 20_000])
def test_ranks_equal_searchsorted(size):
    rng = np.random.default_rng(size)
    for reference_size in (0, 1, size // 20, size, 30 * size):
        reference = np.sort(rng.integers(0, size, reference_size) / 7)
        queries = np.sort(rng.integers(-1, size + 1, size) / 7)
        below, upto = ranks(reference, queries)
        np.testing.assert_array_equal(below, np.searchsorted(reference, queries, side="left"))
        np.testing.assert_array_equal(upto, np.searchsorted(reference, queries, side="right"))


def test_no_queries():
    below, upto = ranks(np.arange(3.0), np.empty(0))
    assert len(below) == len(upto) == 0


def test_run_ends():
    assert run_ends(np.array([1.0, 2.0, 3.0])) is None
    assert run_ends(np.array([1.0, 1.0, 2.0, 3.0, 3.0])).tolist() == [2, 2, 3, 5, 5]


def test_blocks_cover_the_rows_once():
    assert [list(range(7))[b] for b in blocks(7, 3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(blocks(0)) == []
