"""Whole trade-offs against one another, with points placed by hand."""

import numpy as np
import pytest

from fairpot_paper.tables import Points
from fairpot_paper.verdicts import FAILS, HOLDS, OPEN, changes_of, dominance, same_frontier, tenths
from record_cases import fairpot_line, found_of, key, line, points

# FairPOT: lambda = 0 has AUC 0.90 and gap 0.3, lambda = 1 AUC 0.85 and gap 0.
OURS = fairpot_line()


def judged(methods=("xorder",), data="compas", **others):
    options = {name: others.pop(name) for name in ("comparable", "most", "fine") if name in others}
    found = found_of(data, fairpot=others.pop("fairpot", OURS), **others)
    return dominance(found, key(data), methods, **options)


def xorder(auc, gap, **options):
    """Eleven points at one place, unless told otherwise."""
    return points(np.broadcast_to(auc, 11), np.broadcast_to(gap, 11), phase=1, **options)


def test_the_best_of_eleven_within_the_gap():
    # 0.14 is not reached at lambda 0.5 (gap 0.15), so that 0.6 has to do: AUC 0.87.
    ahead = judged(xorder=xorder(0.86, 0.14))
    assert ahead.verdict == HOLDS
    assert "xOrder, lambda 0 (gap 0.140): AUC +0.0100 ± 0.0005" in ahead.figure
    behind = judged(xorder=xorder(0.88, 0.14))
    assert behind.verdict == FAILS
    assert "AUC -0.0100" in behind.figure
    # Its own deviation wobbles against ours by 2 x 0.01: a standard error of 0.0046.
    assert judged(xorder=xorder(0.875, 0.14, wobble=0.01)).verdict == OPEN


def test_at_every_hundredth():
    assert "AUC +0.0030" in judged(xorder=xorder(0.867, 0.141)).figure  # lambda 0.6: 0.87
    assert "AUC +0.0065" in judged(xorder=xorder(0.867, 0.141), fine=True).figure  # lambda 0.53: 0.8735


def test_all_points_count_that_the_baseline_does_not_beat_itself():
    gap = np.array([0.25, 0.25, 0.2, 0.15, 0.1, 0.05, 0.3, 0.3, 0.3, 0.3, 0.3])
    auc = np.array([0.87, 0.80, 0.86, 0.85, 0.84, 0.83, 0.8, 0.8, 0.8, 0.8, 0.8])
    assert judged(xorder=xorder(auc, gap)).figure.startswith("5 points: 5 higher, 0 undecided, 0 lower, 0 gap not")
    auc[3] = 0.88  # FairPOT has 0.875 or less there; and now the points at 0.25 and 0.2 are beaten
    found = judged(xorder=xorder(auc, gap))
    assert found.figure.startswith("3 points: 2 higher, 0 undecided, 1 lower, 0 gap not reached; xOrder, lambda 0.3 ")
    assert found.verdict == FAILS
    assert judged(xorder=xorder(auc, gap), most=True).verdict == HOLDS


def test_most_needs_more_than_half():
    gap, auc = np.full(11, 0.1), np.full(11, 0.7)
    gap[:2], auc[:2] = (0.1, 0.2), (0.86, 0.95)
    found = judged(xorder=xorder(auc, gap), most=True)
    assert found.figure.startswith("2 points: 1 higher, 0 undecided, 1 lower")
    assert found.verdict == FAILS


def test_a_gap_out_of_reach():
    short = fairpot_line(gap=(0.3, 0.05))
    found = judged(fairpot=short, xorder=xorder(0.5, 0.01))
    assert found.verdict == FAILS
    assert "0 higher, 0 undecided, 0 lower, 1 gap not reached" in found.figure
    assert "FairPOT's smallest gap is 0.050 (+0.0400 ±" in found.figure
    # Out of reach in means, but not beyond error.
    assert judged(fairpot=short, xorder=xorder(0.5, 0.048, wobble=0.01)).verdict == OPEN


def test_comparable():
    # At lambda 0.6 FairPOT has 0.87 with a gap of 0.12.
    close = xorder(0.873, 0.121)
    assert judged(xorder=close).verdict == FAILS
    assert judged(xorder=close, comparable=True).verdict == HOLDS
    assert judged(xorder=xorder(0.883, 0.121), comparable=True).verdict == FAILS
    # A gap of 0.117 is out of reach at 0.6 but for the slack.
    assert "AUC -0.0030" in judged(xorder=xorder(0.873, 0.117), comparable=True).figure
    assert "AUC -0.0080" in judged(xorder=xorder(0.873, 0.117)).figure
    short = fairpot_line(gap=(0.3, 0.05))
    assert judged(fairpot=short, xorder=xorder(0.5, 0.046), comparable=True).verdict == HOLDS
    assert judged(fairpot=short, xorder=xorder(0.5, 0.046)).verdict == FAILS
    assert judged(fairpot=short, xorder=xorder(0.5, 0.01), comparable=True).verdict == FAILS
    # Short of it by 0.001 beyond the slack: within error.
    assert judged(fairpot=short, xorder=xorder(0.5, 0.044, wobble=0.005), comparable=True).verdict == OPEN


def test_comparable_is_a_tenth_of_what_the_dial_moves():
    flat = fairpot_line(auc=(0.900, 0.895), wobble=1e-5)  # half a point in all: 0.0005 is negligible, 0.002 is not
    assert judged(fairpot=flat, xorder=xorder(0.8972, 0.121, wobble=1e-5), comparable=True).verdict == HOLDS
    assert judged(fairpot=flat, xorder=xorder(0.899, 0.121, wobble=1e-5), comparable=True).verdict == FAILS
    assert same_frontier(flat, fairpot_line(auc=(0.902, 0.897), wobble=1e-5), "compas").verdict == FAILS


def test_every_baseline_counts():
    lower = {"post_logit": points(0.8, 0.1), "xorder": xorder(0.8, 0.1)}
    barycentre = points(line(0.9, 0.8, 11), line(0.3, 0.1, 11))
    methods = ("post_logit", "wasserstein", "xorder")
    found = judged(methods, **lower, wasserstein=barycentre)
    assert found.verdict == HOLDS
    assert found.figure.startswith("3 points: 3 higher")  # of the barycentre the end alone
    high = points(line(0.9, 0.88, 11), line(0.3, 0.1, 11), phase=1)
    found = judged(methods, **lower, wasserstein=high)
    assert found.verdict == FAILS
    assert "Wasserstein, t = 1 (gap 0.100): AUC -0.0150" in found.figure


def test_without_a_baseline_it_cannot_hold():
    found = judged(("post_logit", "xorder"), xorder=xorder(0.8, 0.1))
    assert found.verdict == OPEN
    assert "Post-logit: no figures" in found.figure
    nothing = points(np.nan, np.nan)
    assert judged(("post_logit", "xorder"), xorder=xorder(0.8, 0.1), post_logit=nothing).verdict == OPEN
    assert judged(("post_logit", "xorder"), xorder=xorder(0.9, 0.1), post_logit=nothing).verdict == FAILS
    assert judged(("post_logit",)) is None
    assert dominance({}, key()) is None


def test_a_seed_without_figures_is_left_out_of_both():
    theirs = xorder(0.86, 0.14)
    holed = Points(theirs.auc.copy(), theirs.signed_gap.copy())
    holed.auc[4, 2] = np.nan
    keep = [k for k in range(20) if k != 4]
    found = judged(xorder=holed)
    rest = judged(fairpot=Points(*(p[keep] for p in OURS)), xorder=Points(*(p[keep] for p in theirs)))
    assert found == rest
    assert found.verdict == HOLDS


def test_one_seed_never_holds_nor_fails():
    for auc in (0.1, 0.99):
        one = judged(fairpot=fairpot_line(seeds=1), xorder=xorder(auc, 0.14, seeds=1))
        assert one.verdict == OPEN
        assert "nan" not in one.figure


def test_the_gap_is_the_mean_of_gaps_without_their_sign():
    # Signed gaps of +0.2 and -0.2 in turn: on the mean no gap, on each seed 0.2.
    signed = np.where(np.arange(20) % 2, 0.2, -0.2)[:, None] * np.ones(11)
    theirs = Points(np.full((20, 11), 0.86) + 0.001 * np.sin(np.arange(20))[:, None], signed)
    assert "(gap 0.200)" in judged(xorder=theirs).figure


def test_changes_have_the_sign_of_an_improvement():
    start = points(0.8, 0.2)
    better, worse, mixed = changes_of(points([0.85, 0.75, 0.85], [0.1, 0.3, 0.3], phase=1), start, "bank")
    assert (better.auc.mean, better.gap.mean) == pytest.approx((0.05, 0.1))
    assert (worse.auc.mean, worse.gap.mean) == pytest.approx((-0.05, -0.1))
    assert [each.verdict() for each in (better, worse, mixed)] == [HOLDS, FAILS, FAILS]
    assert [each.in_means for each in (better, worse, mixed)] == [True, False, False]
    [same] = changes_of(start, start, "bank")
    assert same.verdict() == FAILS


def test_frontiers_are_those_of_the_means_up_to_where_both_start():
    # In means the second is 0.03 behind within 0.1 and equal elsewhere; a gap of 0.3 is where both start.
    auc = line(0.90, 0.85, 101)
    gap = line(0.3, 0.0, 101)
    behind = points(np.where(gap <= 0.1, auc - 0.03, auc), gap)
    found = same_frontier(OURS, behind, "compas")
    assert found.verdict == FAILS
    assert "largest difference in AUC +0.0300" in found.figure
    assert "(negligible: 0.0050); 31 bounds compared" in found.figure
    # What lies beyond the start is no part of the comparison.
    beyond = points(np.append(auc[:-1], 0.95), np.append(gap[:-1], 0.5))
    assert same_frontier(OURS, beyond, "compas").verdict == HOLDS


def test_same_frontier():
    def against(shift, **options):
        return same_frontier(OURS, fairpot_line(auc=(0.90 + shift, 0.85 + shift), **options), "compas")

    assert against(0.0).verdict == HOLDS
    assert against(0.002, wobble=0.002).verdict == HOLDS
    assert against(0.02, wobble=0.002).verdict == against(-0.02, wobble=0.002).verdict == FAILS
    assert against(0.004, wobble=0.02).verdict == OPEN
    assert "-0.0200 ± " in against(0.02, wobble=0.001).figure
    far = fairpot_line(gap=(0.9, 0.8))
    assert same_frontier(OURS, far, "compas").verdict == OPEN
    assert same_frontier(OURS, points(np.full(101, np.nan), np.full(101, 0.1)), "compas").verdict == OPEN


def test_eleven_of_a_hundred_and_one():
    assert tenths(OURS).auc[0] == pytest.approx(OURS.auc[0, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]])
