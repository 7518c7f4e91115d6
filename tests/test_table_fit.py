"""A fit on a score table is the fit on its rows."""

import numpy as np
import pytest
from fairpot._table_fit import fit_table, weighted_rows

from fairpot import FairPOT
from fairpot._validation import check_rows
from fairpot.modelfile import dumps
from fairpot.postprocessing import OptimalMerge, PostLogit, WassersteinRepair, XOrder
from fairpot.postprocessing.saving import describe
from fairpot.table import ScoreTable

METHODS = [
    lambda: FairPOT(0.4),
    lambda: FairPOT(None, max_gap=0.05),
    lambda: FairPOT(0.7, alpha=0.5, region="group", ties="half"),
    lambda: FairPOT(0.3, alpha=0.4, region_from="fitted", reference="b"),
    lambda: OptimalMerge(),
    lambda: PostLogit(),
    lambda: WassersteinRepair(0.5),
    lambda: XOrder(0.2),
]


def draw(seed=0, n=300, groups=("a", "b")):
    rng = np.random.default_rng(seed)
    group = rng.choice(groups, n)
    scores = np.round(rng.beta(2, 3, n) * np.where(group == groups[0], 1.0, 0.8), 2)
    return scores, (rng.random(n) < scores).astype(int), group


def bytes_of(model):
    return dumps(describe(model))


@pytest.mark.parametrize("make", METHODS)
@pytest.mark.parametrize("weighted", [None, "whole", "broken"])
def test_same_bytes_as_from_rows(make, weighted):
    scores, y, group = draw()
    rng = np.random.default_rng(1)
    weight = {None: None, "whole": rng.integers(0, 4, len(y)), "broken": rng.random(len(y))}[weighted]
    by_rows = make().fit(scores, y, sensitive_features=group, sample_weight=weight)
    table = ScoreTable.from_rows(*check_rows(scores, y, group, weight))
    by_table = fit_table(make(), table)
    assert bytes_of(by_table) == bytes_of(by_rows)
    np.testing.assert_array_equal(
        by_table.transform(scores, sensitive_features=group), by_rows.transform(scores, sensitive_features=group)
    )


def test_weights_that_add_up_to_whole_numbers():
    scores, y, group = np.array([0.1, 0.1, 0.4, 0.2, 0.5, 0.7]), [1, 1, 0, 0, 0, 1], list("aaabbb")
    weight = [0.5, 0.5, 1.0, 2.0, 1.0, 3.0]
    table = ScoreTable.from_rows(*check_rows(scores, y, group, weight))
    by_rows = FairPOT(0.5, reference="a").fit(scores, y, sensitive_features=group, sample_weight=weight)
    assert bytes_of(fit_table(FairPOT(0.5, reference="a"), table)) == bytes_of(by_rows)


def test_order_of_intersections():
    """Sorted as text, 10 comes before 9; the columns themselves say otherwise."""
    scores, y, group = draw(n=600)
    columns = {"age": np.random.default_rng(2).choice([9, 10], len(y)), "sex": group}
    by_rows = FairPOT(0.4).fit(scores, y, sensitive_features=columns)
    table = ScoreTable.from_rows(*check_rows(scores, y, columns))
    assert table.groups[0] == "age=9, sex=a"
    assert bytes_of(fit_table(FairPOT(0.4), table)) == bytes_of(by_rows)


def test_without_labels():
    scores, _, group = draw()
    table = ScoreTable.from_rows(*check_rows(scores, None, group))
    assert weighted_rows(table).y is None
    by_rows = FairPOT(0.4, reference="a").fit(scores, sensitive_features=group)
    assert bytes_of(fit_table(FairPOT(0.4, reference="a"), table)) == bytes_of(by_rows)


def test_names_of_groups_keep_their_type():
    scores, y, group = draw(groups=(1, 2))
    table = ScoreTable.from_rows(*check_rows(scores, y, group))
    assert fit_table(FairPOT(0.4), table).groups_ == (1, 2)
    assert len(weighted_rows(table).scores) <= 2 * sum(len(c.score) for c in table.counts)
