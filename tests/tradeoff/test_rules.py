"""Rules in words, and where the top of a list is."""

import numpy as np
import pytest

from fairpot import score_table
from fairpot._validation import check_top
from fairpot._validation.wording import among
from fairpot.tradeoff.rules import Rule


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Rule(), "the smallest gap"),
        (Rule(max_auc_loss=0.01), "the smallest gap for at most 0.01 of AUC"),
        (Rule(0.05), "the highest AUC with a gap of at most 0.05"),
        (Rule(0.05, 0.01), "the highest AUC with a gap of at most 0.05 and a loss of at most 0.01"),
        (Rule(0.05, None, 0.2), "the highest net benefit at 0.2 with a gap of at most 0.05"),
    ],
)
def test_words(rule, words):
    assert rule.in_words() == words
    where = rule.in_words("in the top 10%")
    assert where == words.replace("smallest gap", "smallest gap in the top 10%").replace(
        "at most 0.05", "at most 0.05 in the top 10%"
    )
    if rule.max_gap is not None:
        assert "a gap that is at most 0.05 with 95% confidence" in rule.in_words(confidence=0.95)


def test_what_was_given():
    assert Rule().given == {}
    assert Rule(0.05, None, 0.2).given == {"max_gap": 0.05, "net_benefit_at": 0.2}
    assert Rule(0.0).given == {"max_gap": 0.0}


@pytest.mark.parametrize("name", ["max_gap", "max_auc_loss"])
@pytest.mark.parametrize(
    ("value", "error"), [(-0.1, ValueError), (1.5, ValueError), (np.nan, ValueError), ("x", TypeError)]
)
def test_bounds_are_shares(name, value, error):
    with pytest.raises(error, match=name):
        Rule(**{name: value}).checked()


@pytest.mark.parametrize(
    ("value", "error"), [(0, ValueError), (1, ValueError), (np.nan, ValueError), ("x", TypeError), (True, TypeError)]
)
def test_net_benefit_is_judged_at_a_probability_within_a_gap(value, error):
    with pytest.raises(error, match="net_benefit_at must"):
        Rule(0.1, net_benefit_at=value).checked()
    with pytest.raises(ValueError, match=r"no gap is given.\nHint: add max_gap=0.05"):
        Rule(net_benefit_at=0.3).checked()
    assert Rule(0.1, net_benefit_at=np.float32(0.3)).checked().net_benefit_at == np.float32(0.3)


def counted(n=40, **options):
    return score_table(np.arange(n) % 2, np.arange(n) / n, sensitive_features=["F", "M"] * (n // 2), **options)


def test_a_top_is_a_share_or_so_many_rows():
    table = counted()
    assert table.find_top(0.1).share == 0.1
    assert table.find_top(1.0).share == 1.0
    assert table.find_top(np.float32(0.1)).share == 0.1  # as it prints
    assert table.find_top(10).share == table.find_top(np.int64(10)).share == 0.25
    assert table.find_top(40).share == 1.0
    assert (among(10), among(2000), among(0.125)) == (
        "among the 10 highest",
        "among the 2,000 highest",
        "in the top 12.5%",
    )
    weighed = counted(sample_weight=np.full(40, 3), weights="frequency")
    assert weighed.find_top(30).share == 0.25  # a whole weight is that many rows


def test_a_number_of_rows_needs_rows():
    with pytest.raises(ValueError, match=r"top=41 is more than the 40 rows(.|\n)*Hint: give a number of rows up to 40"):
        counted().find_top(41).share
    importance = counted(sample_weight=np.linspace(0.5, 1.5, 40))
    with pytest.raises(ValueError, match=r"how much a row counts, not how many(.|\n)*such as top=0.1"):
        importance.find_top(10).share
    assert importance.find_top(0.1).share == 0.1


@pytest.mark.parametrize(
    ("top", "error"),
    [(0, ValueError), (-1, ValueError), (0.0, ValueError), (1.5, ValueError), (np.nan, ValueError),
     (np.inf, ValueError), (True, TypeError), ("0.1", TypeError), ([0.1], TypeError), (None, TypeError)],
)  # fmt: skip
def test_other_tops(top, error):
    with pytest.raises(error, match=r"top must be a whole number of rows(.|\n)*Hint: top=200 for 200 rows"):
        check_top(top)
