"""How often intervals, bands and certificates are right, where the truth is known.

python benchmarks/coverage.py [--parts intervals clusters gaps bands certified ...] [--scale 1.0]

Every part draws scores from known laws (seeded), calls fairpot.inference on them, and counts how often the truth lies
inside. ``--scale`` multiplies the number of draws. The tables of docs/evidence/coverage.md are this program's output.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from scipy.special import expit, logit, ndtr, ndtri

from fairpot import FairPOT, InfeasibleRuleError, score_table
from fairpot.counts import GroupCounts
from fairpot.inference.certificate import certify, step_down
from fairpot.inference.dial import DialEstimates, band_of, estimate_steps
from fairpot.inference.interval import confidence_interval, verdict
from fairpot.inference.limits import gap_limits, judge
from fairpot.inference.rates import Cut, Measuring
from fairpot.inference.sample_size import SamplePlan, plan_sample_size
from fairpot.inference.shares import GapEstimates, Pairs, all_pairs, cross_pairs, estimate_shares
from fairpot.methods import LogitShift, OptimalMerge, WassersteinRepair
from fairpot.metrics import xauc_gap
from fairpot.metrics.wins import WinMatrix
from fairpot.table import ScoreTable
from fairpot.tradeoff import Limit

ROOT2 = np.sqrt(2)
LABELS = (1, 1, 0, 0)
GROUPS = (0, 1, 0, 1)
LISTS = {"all": "the whole list", "group": "each group"}


def shift(auc: float) -> float:
    """The distance of two normal scores of spread 1 with this AUC."""
    return float(ROOT2 * ndtri(auc))


def cells(n: int, share: float, rate: float) -> tuple[int, int, int, int]:
    """Positives of a and b, negatives of a and b."""
    a = round(n * share)
    p, q = round(a * rate), round((n - a) * rate)
    return p, q, a - p, n - a - q


def table_of(parts: list[np.ndarray], groups: int = 2) -> ScoreTable:
    """Count scores that come cell by cell: positives of each group, then negatives of each group."""
    sizes = [len(p) for p in parts]
    labels = np.repeat([1] * groups + [0] * groups, sizes).astype(np.int8)
    return ScoreTable.from_rows(
        np.concatenate(parts), labels, np.repeat([*range(groups)] * 2, sizes), tuple("abcdefgh"[:groups])
    )


def row(*values: object) -> None:
    print("| " + " | ".join(str(v) for v in values) + " |", flush=True)


def header(*names: str) -> None:
    row(*names)
    row(*["---"] * len(names))


def percent(hits: float, draws: int) -> str:
    return f"{100 * hits / draws:.1f}"


def intervals(scale: float) -> None:
    """AUC, xAUC and signed gap of normal scores."""
    header(
        *("rows", "share of a", "rate", "positives a, b", "true xAUCs"),
        *("AUC", "xAUC of a over b", "xAUC of b over a", "gap", "gap ± 1.96 se"),
    )
    rng = np.random.default_rng(1)
    for n, draws in ((500, 2000), (5000, 1000), (50_000, 300)):
        for share, rate in ((0.05, 0.05), (0.05, 0.3), (0.3, 0.05), (0.3, 0.3)):
            sizes = cells(n, share, rate)
            if sizes[0] < 10:
                continue
            for aucs in ((0.6, 0.6), (0.8, 0.7), (0.9, 0.9), (0.95, 0.9)):
                _interval_row(rng, (n, share, rate), sizes, aucs, int(draws * scale))


def _interval_row(rng: np.random.Generator, setting: tuple, sizes: tuple, aucs: tuple, draws: int) -> None:
    truth = np.array([np.average(aucs, weights=sizes[:2]), *aucs])
    hits, wald, gap = np.zeros(3), 0, 0
    for _ in range(draws):
        centres = (shift(aucs[0]), shift(aucs[1]), 0.0, 0.0)
        table = table_of([rng.normal(c, 1, m) for c, m in zip(centres, sizes)])
        found = estimate_shares(table, [all_pairs(table), *cross_pairs(table)])
        low, high = found.limits(0.025)
        hits += (low <= truth) & (truth <= high)
        gaps = GapEstimates.side_by_side(found.take([1, 2]))
        [low], [high] = gaps.limits(0.025)
        gap += low <= aucs[0] - aucs[1] <= high
        wald += abs(gaps.value[0] - (aucs[0] - aucs[1])) <= 1.96 * gaps.se[0]
    n, share, rate = setting
    shown = f"{aucs[0]}, {aucs[1]}"
    row(n, share, rate, f"{sizes[0]}, {sizes[1]}", shown, *(percent(h, draws) for h in (*hits, gap, wald)))


def _law(kind: str, auc: float, rng: np.random.Generator, m: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw positives and negatives of a law that is not normal with equal spread."""
    if kind == "exponential":
        return rng.exponential(auc / (1 - auc), m), rng.exponential(1.0, n)
    if kind == "wider positives":
        return rng.normal(np.sqrt(5) * ndtri(auc), 2, m), rng.normal(0, 1, n)
    if kind == "narrower positives":
        return rng.normal(np.sqrt(1.25) * ndtri(auc), 0.5, m), rng.normal(0, 1, n)
    missed = rng.random(m) < 0.1  # a tenth of the positives look like negatives
    return rng.normal(shift((auc - 0.05) / 0.9), 1, m) * ~missed + rng.normal(0, 1, m) * missed, rng.normal(0, 1, n)


def shapes(scale: float) -> None:
    """xAUC and gap of scores that are not normal."""
    header("shape", "AUC", "positives, negatives", "xAUC", "gap of two such")
    rng = np.random.default_rng(2)
    draws = int(1000 * scale)
    for kind in ("exponential", "wider positives", "narrower positives", "a tenth missed"):
        for auc in (0.8, 0.94):
            for m, n in ((10, 200), (30, 100), (100, 1000)):
                hits = gap = 0
                for _ in range(draws):
                    (p1, q1), (p2, q2) = (_law(kind, auc, rng, m, n) for _ in range(2))
                    table = table_of([p1, p2 + 1e6, q2 + 1e6, q1])  # a's positives meet b's negatives, and vice versa
                    found = estimate_shares(table, [Pairs((0,), (1,)), Pairs((1,), (0,))])
                    low, high = found.limits(0.025)
                    hits += low[0] <= auc <= high[0]
                    [low], [high] = GapEstimates.side_by_side(found).limits(0.025)
                    gap += low <= 0 <= high
                row(kind, auc, f"{m}, {n}", percent(hits, draws), percent(gap, draws))


# The top rates that are looked at: which, of whom; group a has 30 % of the rows.
RATES_OF_TOPS = (
    ("selection rate, a", "value", "selection_rate", ((0,),)),
    ("selection rate, b", "value", "selection_rate", ((1,),)),
    ("TPR, a", "value", "tpr", ((0,),)),
    ("TPR, b", "value", "tpr", ((1,),)),
    ("PPV, a", "value", "ppv", ((0,),)),
    ("TPR, difference", "difference", "tpr", ((0,), (1,))),
)
ROUNDED = {"smooth": None, "two digits": 2, "deciles": 10}
KINDS = ("rows", "weights", "clusters")


def in_tops(scale: float) -> None:
    """Gap and rates in a top, with weights and clusters: gap from these scores on, and of the population's top."""
    names = (name for name, *_ in RATES_OF_TOPS)
    header("scores", "of", "top", "top of", "gap from these scores on", "gap of the population's top", *names)
    draws = int(300 * scale)
    for name, digits in ROUNDED.items():
        big = _drawn_for_tops(np.random.default_rng(3), 2_000_000, digits, "rows")
        for top, where in ((0.1, "all"), (0.3, "all"), (0.3, "group")):
            truths: dict[tuple[float, ...], list[float]] = {}
            for kind in KINDS:
                rng = np.random.default_rng([4, KINDS.index(kind)])
                _row_of_tops(rng, (name, digits, kind), (big, truths), (top, where), draws)


def _drawn_for_tops(rng: np.random.Generator, n: int, digits: int | None, kind: str) -> ScoreTable:
    """Draw probabilities, rounded or in deciles; as survey rows with weights; as three visits of each patient."""
    size, visits = (2 * n, 1) if kind == "weights" else (n // 3, 3) if kind == "clusters" else (n, 1)
    a = np.repeat(rng.random(size) < 0.3, visits)
    y = np.repeat(rng.random(size), visits) < np.where(a, 0.3, 0.2)
    noise = rng.normal(size=size * visits)
    if visits > 1:
        noise = (noise + np.repeat(rng.normal(size=size), visits)) / ROOT2
    score = expit(y * 1.2 + 0.4 * a + noise - 1.5)
    if digits is not None:
        edges = expit(np.array([-2.5, -2.05, -1.7, -1.45, -1.2, -0.95, -0.68, -0.35, 0.1]))
        score = np.round(score, digits) if digits == 2 else np.searchsorted(edges, score).astype(float)
    group = np.where(a, "a", "b")
    if kind == "weights":  # of the rows with high scores half are drawn, and count twice
        high = score >= np.median(score)
        kept = np.flatnonzero(rng.random(size) < np.where(high, 0.5, 1.0))[:n]
        weight = np.where(high[kept], 2.0, 1.0)
        return score_table(y[kept], score[kept], sensitive_features=group[kept], sample_weight=weight)
    known = {"clusters": np.arange(size * visits) // visits} if visits > 1 else {}
    return score_table(y, score, sensitive_features=group, **known)


def _smooth_gap(starts: dict[str, float]) -> float:
    """Integrate the gap from some scores on, of the smooth law that tops are drawn from."""
    cut = {group: float(logit(start)) + 1.5 for group, start in starts.items()}
    middle = {("a", 1): 1.6, ("a", 0): 0.4, ("b", 1): 1.2, ("b", 0): 0.0}
    share = {}
    for g, h in (("a", "b"), ("b", "a")):
        x = np.linspace(max(cut[g], cut[h]), 8, 4001)
        density = np.exp(-((x - middle[g, 1]) ** 2) / 2) / np.sqrt(2 * np.pi)
        won = np.trapezoid(density * (ndtr(x - middle[h, 0]) - ndtr(cut[h] - middle[h, 0])), x)
        share[g] = won / (ndtr(middle[g, 1] - cut[g]) * ndtr(middle[h, 0] - cut[h]))
    return float(abs(share["a"] - share["b"]))


def _truths(big: ScoreTable, starts: dict[str, float]) -> list[float]:
    """Count the gap and the rates from some scores on in the population."""
    first, second = WinMatrix.of(big.above(starts), "half").widest()
    measuring = [Measuring(big, Cut("score", starts[group]), None) for group in big.groups]
    values = []
    for _, _, rate, places in RATES_OF_TOPS:
        each = [float(measuring[place].estimate("value", rate, (place,))) for (place,) in places]
        values.append(each[0] - sum(each[1:]))
    return [abs(first - second), *values]


def _row_of_tops(
    rng: np.random.Generator,
    law: tuple[str, int | None, str],
    population: tuple[ScoreTable, dict[tuple[float, ...], list[float]]],
    asked: tuple[float, str],
    draws: int,
) -> None:
    (name, digits, kind), (big, truths) = law, population
    hits, of_population = np.zeros(1 + len(RATES_OF_TOPS)), 0
    own = big.thresholds(*asked)
    for _ in range(draws):
        table = _drawn_for_tops(rng, 2000, digits, kind)
        starts = table.thresholds(*asked)
        for each in [own] if digits is None else [own, starts]:
            if tuple(each.values()) not in truths:
                truths[tuple(each.values())] = _truths(big, each)
        gap = confidence_interval("xauc_gap", table, top=asked[0], top_of=asked[1])
        measuring = Measuring(table, Cut("top", None, *asked))
        found = [gap, *(measuring.estimate(how, rate, *places) for _, how, rate, places in RATES_OF_TOPS)]
        of_top = truths[tuple(own.values())]
        # Rates at smooth scores know that their cut moves; all else is of the rows from these scores on.
        truth = [_smooth_gap(starts), *of_top[1:]] if digits is None else truths[tuple(starts.values())]
        hits += [each.reason is not None or each.low <= value <= each.high for each, value in zip(found, truth)]
        of_population += gap.reason is not None or gap.low <= of_top[0] <= gap.high
    gap_from_here, *rates = (percent(each, draws) for each in hits)
    row(name, kind, asked[0], LISTS[asked[1]], gap_from_here, percent(of_population, draws), *rates)


def clusters(scale: float) -> None:
    """Patients with several visits: with and without saying so."""
    header("patients", "visits", "gap, patients named", "gap, patients not named", "rates at a threshold, named")
    from fairpot.inference.rates import Cut, Measuring

    rng = np.random.default_rng(4)
    draws = int(600 * scale)
    for patients, visits in ((200, 5), (1000, 5), (1000, 10)):
        named = ignored = rate = 0
        for _ in range(draws):
            group, y, score, patient = _visits(rng, patients, visits)
            args = {"sensitive_features": group}
            for clustered in (True, False):
                sample = score_table(y, score, clusters=patient if clustered else None, **args)
                gaps = GapEstimates.side_by_side(estimate_shares(sample, cross_pairs(sample)))
                [low], [high] = gaps.limits(0.025)
                if clustered:
                    named += low <= 0 <= high
                    tpr = Measuring(sample, Cut("score", 0.5)).estimate("value", "tpr", (0,))
                    rate += tpr.low <= ndtr(0.5 / ROOT2) <= tpr.high
                else:
                    ignored += low <= 0 <= high
        row(patients, visits, *(percent(h, draws) for h in (named, ignored, rate)))


_UNNAMED = ("not named: certified", "broken of these, %")


def certified_clusters(scale: float) -> None:
    """Certificates on patients with several visits, to be broken 10 % of the time: with and without saying so."""
    header("patients", "visits", "target gap", "draws", "named: certified", "of these broken, %", *_UNNAMED)
    draws = int(200 * scale)
    for patients, visits, bound in ((150, 8, 0.3), (400, 8, 0.2)):
        rng = np.random.default_rng(8)
        group, y, score, _ = _behind(np.random.default_rng(9), 400_000, 1)
        everyone = score_table(y, score, sensitive_features=group)
        found: dict[bool, list[bool]] = {True: [], False: []}
        for _ in range(draws):
            group, y, score, patient = _behind(rng, patients, visits)
            for told in (True, False):
                model = FairPOT(max_gap=bound, confidence=0.9)
                try:
                    model.fit(score, y, sensitive_features=group, clusters=patient if told else None)
                except InfeasibleRuleError:
                    continue
                matrix = WinMatrix.of(everyone.rescored(model.maps_)).xauc()
                found[told].append(abs(matrix[0, 1] - matrix[1, 0]) > bound)
        shown = [
            f(found[told]) for told in (True, False) for f in (len, lambda hits: percent(sum(hits), len(hits) or 1))
        ]
        row(patients, visits, bound, draws, *shown)


def _behind(rng: np.random.Generator, patients: int, visits: int) -> tuple[np.ndarray, ...]:
    """As patients with visits; the label is the patient's, and one group has more cases and higher scores.

    So a repair costs AUC, and the dial that is chosen is the last one that the bound allows.
    """
    group, _, score, patient = _visits(rng, patients, visits)
    first = np.flatnonzero(np.diff(patient, prepend=-1))
    y = (rng.random(patients) < np.where(group[first] == "b", 0.6, 0.25)).astype(int)[patient]
    return group, y, score + y + 1.2 * (group == "b"), patient


def _visits(rng: np.random.Generator, patients: int, visits: int) -> tuple[np.ndarray, ...]:
    """Half of a score's variance belongs to the patient; labels belong to the visit."""
    patient = np.repeat(np.arange(patients), visits)
    group = np.where(rng.random(patients) < 0.4, "a", "b")[patient]
    y = (rng.random(len(patient)) < 0.3).astype(int)
    score = rng.normal(size=patients)[patient] + rng.normal(size=len(patient)) + y
    return group, y, score, patient


def gaps(scale: float) -> None:
    """The size of the gap, the largest of several pairs, and verdicts against a bound of .05."""
    header("groups", "positives each", "true gap", "interval covers", "said within", "said exceeds", "cannot tell")
    rng = np.random.default_rng(5)
    draws = int(1000 * scale)
    for groups, m in ((2, 50), (2, 500), (4, 50), (4, 500)):
        for true_gap in (0.0, 0.05, 0.12):
            _gap_row(rng, groups, m, true_gap, draws)


def _gap_row(rng: np.random.Generator, groups: int, m: int, true_gap: float, draws: int) -> None:
    """Negatives are alike in all groups; the positives of the first group score higher than the others'."""
    centres = [shift(0.75 + true_gap)] + [shift(0.75)] * (groups - 1) + [0.0] * groups
    sizes = [m] * groups + [4 * m] * groups
    hits, said = 0, {"within": 0, "exceeds": 0, "cannot tell": 0}
    for _ in range(draws):
        table = table_of([rng.normal(c, 1, size) for c, size in zip(centres, sizes)], groups)
        found = GapEstimates.side_by_side(estimate_shares(table, cross_pairs(table)))
        low, high = gap_limits(found, 0.025)
        hits += low <= true_gap <= high
        said[judge(found, 0.05, 0.05)] += 1
    shown = (percent(v, draws) for v in (hits, said["within"], said["exceeds"], said["cannot tell"]))
    row(groups, m, true_gap, *shown)


Curve = tuple[Callable[[float], dict], Callable[[float], float]]


def falling(reach: float) -> Curve:
    """Group b is moved up by a share t of ``reach``; a stands .6 above it."""
    return (
        lambda t: {"b": lambda s: s + t * reach},
        lambda t: float(ndtr((1.6 - t * reach) / ROOT2) - ndtr((0.4 + t * reach) / ROOT2)),
    )


def waving() -> Curve:
    """A dial whose gap falls, rises and falls again."""

    def moved(t: float) -> float:
        return 0.6 + 0.25 * float(np.cos(3 * np.pi * t))

    return (
        lambda t: {"b": lambda s: s + moved(t)},
        lambda t: float(ndtr((1.6 - moved(t)) / ROOT2) - ndtr((0.4 + moved(t)) / ROOT2)),
    )


DIAL = np.linspace(0, 1, 33)


def _estimate_dial(table: ScoreTable, maps_at: Callable, values: np.ndarray) -> DialEstimates:
    return estimate_steps(table, lambda given: (maps_at(value) for value in given), values)


def _held_out(rng: np.random.Generator, n: int, share: float, rate: float) -> ScoreTable:
    p, q, r, s = cells(n, share, rate)
    return table_of([rng.normal(c, 1, m) for c, m in zip((1.6, 1.0, 0.6, 0.0), (p, q, r, s))])


SETTINGS = ((1000, 0.3, 0.3), (4000, 0.1, 0.3), (4000, 0.3, 0.3), (16_000, 0.1, 0.3))


def bands(scale: float) -> None:
    """Simultaneous bands over a dial of 33 values."""
    header("rows", "share of a", "rate", "gap at all strengths", "AUC at all strengths", "gap at one strength")
    rng = np.random.default_rng(6)
    draws = int(300 * scale)
    maps_at, true_gap = falling(1.2)
    true = np.array([true_gap(t) for t in DIAL])
    for n, share, rate in SETTINGS:
        p, q, r, s = cells(n, share, rate)
        auc = _true_auc((p, q, r, s))
        hits = np.zeros(3)
        for _ in range(draws):
            dial = _estimate_dial(_held_out(rng, n, share, rate), maps_at, DIAL)
            band = band_of(dial)
            inside = (band.gap.low_all <= np.abs(true)) & (np.abs(true) <= band.gap.high_all)
            at_once = (band.auc.low_all <= auc) & (auc <= band.auc.high_all)
            one = band.gap.low[4] <= abs(true[4]) <= band.gap.high[4]
            hits += inside.all(), at_once.all(), one
        row(n, share, rate, *(percent(h, draws) for h in hits))


def _true_auc(sizes: tuple[int, int, int, int]) -> np.ndarray:
    p, q, r, s = sizes
    moved = 1.2 * DIAL
    total = p * r * ndtr(1.0 / ROOT2) + q * s * ndtr(1.0 / ROOT2)
    return (total + p * s * ndtr((1.6 - moved) / ROOT2) + q * r * ndtr((0.4 + moved) / ROOT2)) / ((p + q) * (r + s))


def certified(scale: float) -> None:
    """How often a certificate is false, delta = .05, at bounds that a value of the dial just misses.

    The plain rule chooses its first value, as where AUC falls along the dial; step-down and walk answer for any
    choice, so that one false value among the certified counts.
    """
    kinds = [f"{rule}: {what}" for rule in ("plain", "step-down", "walk") for what in ("some", "false")]
    header("curve", "rows", "share of a", "target gap", *kinds)
    rng = np.random.default_rng(7)
    draws = int(300 * scale)
    for name, (maps_at, true_gap) in (
        ("falling", falling(1.2)),
        ("falling, short", falling(0.7)),
        ("waving", waving()),
    ):
        true = np.abs([true_gap(t) for t in DIAL])
        for n, share, rate in SETTINGS:
            dials = [_estimate_dial(_held_out(rng, n, share, rate), maps_at, DIAL) for _ in range(draws)]
            for wanted in (0.05, 0.1):
                bound = 0.9999 * float(true[true > wanted].min())
                _certified_row(name, n, share, bound, dials, true)


def _certified_row(name: str, n: int, share: float, bound: float, dials: list, true: np.ndarray) -> None:
    some, wrong = np.zeros(3), np.zeros(3)
    for dial in dials:
        walked, _ = certify(dial.gaps, bound, 0.05)
        rules = dial.gap <= bound, step_down(dial.gaps, bound, 0.05, dial.many), walked
        for k, kept in enumerate(rules):
            if kept.any():
                some[k] += 1
                wrong[k] += (true[kept] > bound).any() if k else true[np.argmax(kept)] > bound
    draws = len(dials)
    shown = [percent(v, draws) for pair in zip(some, wrong) for v in pair]
    row(name, n, share, f"{bound:.3f}", *shown)


def refusals(scale: float) -> None:
    """Below 10 positives: how often the interval is right, and when it is refused."""
    header("positives", "negatives", "AUC", "given", "right, where given")
    rng = np.random.default_rng(8)
    draws = int(1000 * scale)
    for m in (3, 4, 5, 7):
        for auc in (0.6, 0.8, 0.95):
            given = hits = 0
            for _ in range(draws):
                score = np.concatenate((rng.normal(shift(auc), 1, m), rng.normal(0, 1, 100)))
                found = confidence_interval("auc", np.repeat([1, 0], (m, 100)), score)
                given += found.reason is None
                hits += found.low <= auc <= found.high
            row(m, 100, auc, percent(given, draws), percent(hits, given) if given else "")


def coarse(scale: float) -> None:
    """Verdicts in tops of rounded scores, at bounds that make them false for the rows from these scores on."""
    header("rows", "top of", "top", "rounded to", "true gap", "interval covers", "false within", "false exceeds")
    rng = np.random.default_rng(10)
    draws = int(300 * scale)
    for region, top, grain, n in (
        ("group", 0.25, 1.0, 600),
        ("group", 0.25, 1.0, 2000),
        ("all", 0.3, 0.5, 2000),
        ("all", 0.1, 0.2, 2000),
        ("group", 0.3, 0.1, 2000),
    ):
        y, score, group = _rounded(np.random.default_rng(11), 4_000_000, grain)
        big = score_table(y, score, sensitive_features=group)
        truths: dict[tuple[float, ...], float] = {}
        hits = within = exceeds = 0
        for _ in range(draws):
            y, score, group = _rounded(rng, n, grain)
            table = score_table(y, score, sensitive_features=group)
            starts = table.thresholds(top, region)
            key = tuple(starts.values())
            if key not in truths:
                first, second = WinMatrix.of(big.above(starts), "half").widest()
                truths[key] = abs(first - second)
            found = confidence_interval("xauc_gap", table, top=top, top_of=region)
            hits += found.reason is not None or found.low <= truths[key] <= found.high
            given = {"top": top, "top_of": region}
            within += verdict(table, bound=0.999 * truths[key], **given).answer == "within"
            exceeds += verdict(table, bound=min(1.001 * truths[key], 1), **given).answer == "exceeds"
        most = max(truths.values())
        shown = (percent(v, draws) for v in (hits, within, exceeds))
        row(n, LISTS[region], top, grain, f"{min(truths.values()):.3f} to {most:.3f}", *shown)


def _rounded(
    rng: np.random.Generator, n: int, grain: float | None, lead: float = 0.8, groups: int = 2
) -> tuple[np.ndarray, ...]:
    """Scores of two or more groups, the later ones ahead, on a grid."""
    place = rng.choice(groups, n, p=np.array([0.6, 0.4] if groups == 2 else [0.4, 0.3, 0.3]))
    y = (rng.random(n) < 0.3 + 0.1 * place).astype(int)
    score = rng.normal(1.1 * y + lead * place / (groups - 1))
    return y, np.round(score / grain) * grain if grain else score, np.array(["a", "b", "c"])[place]


_SIGNED = ("method", "tested on", "rows", "groups", "top of", "rounded to", "weights", "target gap")
_SIGNED += ("draws", "certified, %", "broken, % of draws")
# Strengths at which it is measured whether a map that was fitted on other rows can keep the bound at all.
_STRENGTHS = np.linspace(0, 1, 11).tolist()


def signed(scale: float) -> None:
    """Certificates at 90 %: how often a value is certified, and how often the true gap is then above the bound.

    Of maps that were fitted on other rows: how often the true gap is within the bound at any of eleven strengths.
    """
    header(*_SIGNED, "in reach, %")
    draws = int(100 * scale)
    top = {"top": 0.25, "top_of": "group"}
    for method, n, grain, bound, more in (
        (FairPOT, 2000, 1.0, 0.3, {"top": top, "held_out": True}),
        (FairPOT, 2000, 1.0, 0.3, {"top": top | {"repair": "top"}, "held_out": True}),
        (FairPOT, 2000, None, 0.15, {"top": {"top": 0.3}}),
        (FairPOT, 2000, 0.5, 0.15, {"top": {"top": 0.3, "repair": "top"}}),
        (FairPOT, 2000, None, 0.15, {"top": {"top": 0.3, "repair": "top"}}),
        (FairPOT, 2000, 0.2, 0.12, {}),
        (FairPOT, 3000, None, 0.15, {"groups": 3}),
        (WassersteinRepair, 2000, 0.2, 0.12, {}),
        (OptimalMerge, 2000, 0.2, 0.12, {}),
        (LogitShift, 2000, None, 0.12, {}),
    ):
        _signed_row(method, n, grain, bound, draws, reach=True, **more)


def weighted(scale: float) -> None:
    """Certificates at 90 % on rows with importance weights."""
    header(*_SIGNED)
    _signed_row(FairPOT, 2000, None, 0.12, int(300 * scale), weighted=True)


def tops(scale: float) -> None:
    """Certificates at 90 % of the gap from the score on at which the top begins; of a repaired top also tight ones."""
    header(*_SIGNED)
    for alpha in (0.3, 0.1):
        for n in (800, 1500, 4000):
            for method, grain in ((FairPOT, None), (LogitShift, 0.4)):
                _signed_row(method, n, grain, 0.2, int(60 * scale), top={"top": alpha})
    for bound in (0.1, 0.15):  # between the gap before the repair and that after the whole of it
        _signed_row(FairPOT, 1500, None, bound, int(200 * scale), top={"top": 0.3, "repair": "top"})


def sizes(scale: float) -> None:
    """Certificates at 90 % of a gap within 0.2 by FairPOT: in a top, and on whole lists with as many rows of each kind.

    "Such a list" has as many positives and negatives of each group as the top has. It is drawn from everybody, or from
    those whose scores are in the top of the population.
    """
    said = ("certified in the top, %", "only the top repaired, %", "such a list, %", "such a list of high scores, %")
    header("rows", "top", "fewest of a kind in it", "draws", *said)
    everyone = _rounded(np.random.default_rng(14), 1_000_000, None)
    draws = int(60 * scale)
    for alpha in (0.3, 0.1):
        high = everyone[1] >= np.quantile(everyone[1], 1 - alpha)
        for n in (800, 1500, 4000) if alpha == 0.3 else (1500, 2500, 4000):
            rng, granted, fewest = np.random.default_rng(12), np.zeros(4, dtype=int), 0
            for _ in range(draws):
                rows = _rounded(rng, n, None)
                counts = np.bincount(_kinds(rows)[rows[1] >= np.quantile(rows[1], 1 - alpha)], minlength=4)
                fewest += counts.min()
                lists = (_like(rng, counts, pool) for pool in (everyone, tuple(each[high] for each in everyone)))
                tops = ({"top": alpha}, {"top": alpha, "repair": "top"})
                granted += [*(_granted(rows, top) for top in tops), *(_granted(each, {}) for each in lists)]
            row(n, alpha, f"{fewest / draws:.0f}", draws, *(percent(each, draws) for each in granted))


def _kinds(rows: tuple[np.ndarray, ...]) -> np.ndarray:
    """Number the rows by outcome and group, of two groups."""
    return rows[0] + 2 * (rows[2] == "b")


def _like(rng: np.random.Generator, counts: np.ndarray, pool: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """Draw as many rows of each kind."""
    kinds = _kinds(pool)
    drawn = np.concatenate([rng.choice(np.flatnonzero(kinds == k), count) for k, count in enumerate(counts)])
    return tuple(each[drawn] for each in pool)


def _granted(rows: tuple[np.ndarray, ...], top: dict) -> bool:
    try:
        FairPOT(max_gap=0.2, confidence=0.9, **top).fit(rows[1], rows[0], sensitive_features=rows[2])
    except ValueError:  # nothing is certified, or a group has no rows of a kind
        return False
    return True


def _signed_row(
    method: type,
    n: int,
    grain: float | None,
    bound: float,
    draws: int,
    *,
    top: dict | None = None,
    held_out: bool = False,
    weighted: bool = False,
    groups: int = 2,
    reach: bool = False,
) -> None:
    rng = np.random.default_rng(12)
    y, score, group = _rounded(np.random.default_rng(13), 300_000, grain, groups=groups)
    certified = broken = kept = 0
    for _ in range(draws):
        rows = _weighed(rng, n, grain, groups) if weighted else _rounded(rng, n, grain, groups=groups)
        try:
            if held_out:
                model = method(lam=0.5, **top or {}).fit(rows[1], rows[0], sensitive_features=rows[2])
                kept += any(_true_gap(model.at(lam), y, score, group) <= bound for lam in _STRENGTHS)
                rows = _rounded(rng, n, grain, groups=groups)
                model = model.choose_certified(
                    rows[1], rows[0], sensitive_features=rows[2], max_gap=bound, confidence=0.9
                )
            else:
                model = method(max_gap=bound, confidence=0.9, **top or {})
                model.fit(rows[1], rows[0], sensitive_features=rows[2], sample_weight=rows[3] if weighted else None)
        except InfeasibleRuleError:
            continue
        certified += 1
        broken += _true_gap(model, y, score, group) > bound
    where = ""
    if top is not None:
        where = f"{'each group' if 'top_of' in top else 'the list'}, {top['top']}"
        where += ", the top repaired" if "repair" in top else ""
    weights = "importance" if weighted else ""
    said = (method.__name__, "held out" if held_out else "folds", n, groups, where, grain or "", weights)
    more = (percent(kept, draws) if held_out else "",) if reach else ()
    row(*said, bound, draws, percent(certified, draws), percent(broken, draws), *more)


def _true_gap(model: FairPOT, y: np.ndarray, score: np.ndarray, group: np.ndarray) -> float:
    """Measure the gap that a certificate is about: of all, of the top afterwards, or from a score on."""
    moved = model.transform(score, sensitive_features=group)
    if model.top is None:
        return xauc_gap(y, moved, sensitive_features=group)
    certificate = getattr(model, "certificate_", None)
    if certificate is None or certificate.starts is None:
        region = "group" if model.top_of == "group" else "all"
        return xauc_gap(y, moved, sensitive_features=group, top=model.top, top_of=region)
    seen = moved if certificate.adjusted else score
    inside = seen >= np.array([certificate.starts[name] for name in group])
    return xauc_gap(y[inside], moved[inside], sensitive_features=group[inside])


def _weighed(rng: np.random.Generator, n: int, grain: float | None, groups: int) -> tuple[np.ndarray, ...]:
    """Draw rows of low scores twice as often as they are in the population; weights set that right."""
    rows = _rounded(rng, 3 * n, grain, groups=groups)
    chance = np.where(rows[1] < np.median(rows[1]), 0.44, 0.22)
    kept = rng.random(3 * n) < chance
    return (*(column[kept] for column in rows), 0.1 / chance[kept])


def surveys(scale: float) -> None:
    """Whole-number weights of a survey, taken for how much a row counts and for a number of rows."""
    header("rows", "draws", "gap, weights as importance", "gap, weights as frequency")
    y, score, group = _rounded(np.random.default_rng(13), 4_000_000, None)
    truth = xauc_gap(y, score, sensitive_features=group)
    for n in (500, 2000):
        rng, draws, hits = np.random.default_rng(15), int(800 * scale), np.zeros(2)
        for _ in range(draws):
            *rows, weight = _weighed(rng, n, None, 2)
            said = {"sensitive_features": rows[2], "sample_weight": np.round(weight / weight.min())}
            for k, kind in enumerate(("importance", "frequency")):
                found = confidence_interval("xauc_gap", rows[0], rows[1], weights=kind, **said)
                hits[k] += found.low <= truth <= found.high
        row(n, draws, *(percent(each, draws) for each in hits))


# Each group: its share, where its scores stand, and level and slope of the log-odds along them.
LAWS = {
    "AUC .90, 10 % positive": ((0.7, 0.0, -3.0, 2.4), (0.3, 0.5, -3.3, 2.0)),
    "AUC .77, 31 % positive": ((0.6, 0.3, -0.9, 1.2), (0.4, -0.3, -1.2, 1.0)),
    "AUC .64, 24 % positive": ((0.5, 0.0, -1.4, 0.4), (0.5, 0.5, -1.0, 0.5)),
    "one step, AUC .70": ((0.6, 0.0, -1.0, 0.8), (0.4, 0.5, -0.8, 0.8)),
}


def limit(scale: float) -> None:
    """The limit against the best rule for the law that rows were drawn from, times 10,000."""
    header("law", "scores", "rows", "bound", "true", "limit: bias", "sd", "perfect rule")
    rng = np.random.default_rng(10)
    for name in LAWS:
        for decimals in (12, 1):
            for n, draws in ((1000, 100), (2000, 100), (8000, 60), (30_000, 30)):
                bounds = (
                    (0.0, 0.02, 0.05, 0.1) if (n, decimals, name) == (2000, 12, "AUC .77, 31 % positive") else (0.05,)
                )
                _limit_rows(rng, name, decimals, n, bounds, int(draws * scale))


def _law_of(name: str, decimals: int) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Give scores of each group, how many rows of a thousand have them, and the chance of the outcome there."""
    z, found = ndtri((np.arange(4000) + 0.5) / 4000), []
    for share, centre, level, slope in LAWS[name]:
        risk = expit(level + slope * (np.sign(z - 0.3) if "step" in name else z))
        score, place = np.unique(np.round(z + centre, decimals), return_inverse=True)
        rows = np.bincount(place).astype(float)
        found.append((score, share * rows / 4, np.bincount(place, weights=risk) / rows))
    return found


def _limit_rows(rng: np.random.Generator, name: str, decimals: int, n: int, bounds: tuple, draws: int) -> None:
    law = _law_of(name, decimals)
    coarse = [np.append(0, np.flatnonzero(np.diff(np.arange(len(s)) * 500 // len(s))) + 1) for s, _, _ in law]
    counts = [GroupCounts(s, w * p, w * (1 - p)).merged(c, s[c]) for (s, w, p), c in zip(law, coarse)]
    truth = Limit.of(ScoreTable(("a", "b"), tuple(counts)), reference="a")
    found = []
    for _ in range(draws):
        sample = []
        for score, rows, risk in law:
            weight = rng.multinomial(round(n * rows.sum() / 1000), rows / rows.sum())
            positive = rng.binomial(weight, risk)
            sample.append(GroupCounts(score, positive, weight - positive).without_empty())
        table = ScoreTable(("a", "b"), tuple(sample))
        line = Limit.of(table, reference="a")
        found.append([_limit_errors(line, truth, table, law, bound) for bound in bounds])
    for bound, each in zip(bounds, 1e4 * np.swapaxes(found, 0, 1)):
        (above, raw), (sd, _) = each.mean(axis=0), each.std(axis=0)
        shown = (f"{value:.0f}" for value in (above, sd, raw))
        kind = "exact" if decimals == 12 else "rounded"
        row(name, kind, f"{n:,}", bound, f"{truth.best(bound).auc:.3f}", *shown)


def _limit_errors(line: Limit, truth: Limit, table: ScoreTable, law: list, bound: float) -> tuple[float, ...]:
    """Give the error of the limit, and the distance to it of the merge that is best for the law."""
    best, true = line.best(bound), truth.best(bound)
    odds = [logit(risk[np.searchsorted(score, c.score)]) for (score, _, risk), c in zip(law, table.counts)]
    merged = WinMatrix.of(table.viewed([odds[0], odds[1] + np.log(true.theta)]))
    gap = merged.xauc()[0, 1] - merged.xauc()[1, 0]
    return best.auc - true.auc, float(line.auc_at(gap)) - merged.auc()


def plans(scale: float) -> None:
    """How often rows of the planned number detect the gap, or certify the bound, and how often that was promised.

    Group and outcome of each row are drawn as well, so that a sample may have fewer positives than planned.
    """
    header("goal", "groups", "rates", "AUC", "gap", "rows", "positives of a", "promised", "reached")
    rng = np.random.default_rng(10)
    for goal, shares, rates, auc, gap, power in PLANS:
        groups = "abcdefgh"[: len(shares)]
        plan = plan_sample_size(
            gap,
            goal=goal,
            power=power,
            auc=auc,
            shares=dict(zip(groups, shares)),
            rates=dict(zip(groups, rates)),
        )
        draws = int(scale * min(800, max(200, 6_000_000 / plan.rows)))
        hits = sum(_reached(rng, plan, goal, gap, auc, shares, rates) for _ in range(draws))
        shown = ", ".join(map(str, shares)), ", ".join(map(str, rates)), auc, gap
        row(goal, *shown, plan.rows, plan.positives["a"], f"{100 * power:.0f}", percent(hits, draws))


def _reached(rng: np.random.Generator, plan: SamplePlan, goal: str, gap: float, auc: float, *law: tuple) -> bool:
    """Draw as many rows as planned; the groups of the plan's pair stand around the middle, the others on it."""
    shares, rates = law
    group = rng.choice(len(shares), plan.rows, p=shares)
    y = rng.random(plan.rows) < np.array(rates)[group]
    middle = np.full(len(shares), auc)
    high, low = ("abcdefgh".index(str(g)) for g in plan.pair)
    middle[high] += plan.true_gap / 2
    middle[low] -= plan.true_gap / 2
    score = rng.normal(size=plan.rows) + y * ROOT2 * ndtri(middle)[group]
    table = score_table(y.astype(int), score, sensitive_features=group)
    if goal == "detect":
        return confidence_interval("xauc_gap", table).low > 0
    return verdict(table, bound=gap).answer == "within"


PLANS = (
    ("detect", (0.5, 0.5), (0.02, 0.02), 0.9, 0.1, 0.9),
    ("detect", (0.05, 0.95), (0.1, 0.1), 0.95, 0.06, 0.8),
    ("detect", (0.05, 0.95), (0.5, 0.5), 0.6, 0.15, 0.8),
    ("detect", (0.3, 0.7), (0.05, 0.2), 0.8, 0.1, 0.9),
    ("detect", (0.9, 0.1), (0.1, 0.1), 0.95, 0.08, 0.9),
    ("detect", (0.2, 0.8), (0.02, 0.1), 0.97, 0.04, 0.8),
    ("certify", (0.5, 0.5), (0.02, 0.02), 0.9, 0.1, 0.9),
    ("certify", (0.05, 0.95), (0.1, 0.1), 0.95, 0.1, 0.8),
    ("certify", (0.2, 0.8), (0.3, 0.3), 0.97, 0.05, 0.9),
    ("certify", (0.3, 0.7), (0.05, 0.2), 0.6, 0.15, 0.8),
    ("certify", (0.1, 0.9), (0.5, 0.5), 0.8, 0.08, 0.8),
    ("detect", (0.2, 0.3, 0.5), (0.1, 0.1, 0.1), 0.85, 0.1, 0.8),
    ("certify", (0.1, 0.2, 0.3, 0.4), (0.2, 0.1, 0.1, 0.1), 0.9, 0.1, 0.9),
)


PARTS = {
    part.__name__: part
    for part in (
        intervals,
        shapes,
        refusals,
        in_tops,
        clusters,
        gaps,
        bands,
        certified,
        certified_clusters,
        coarse,
        signed,
        weighted,
        surveys,
        tops,
        sizes,
        limit,
        plans,
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--scale", type=float, default=1.0)
    args = parser.parse_args()
    for name in args.parts:
        start = time.perf_counter()
        print(f"\n### {name}: {PARTS[name].__doc__}\n")
        PARTS[name](args.scale)
        print(f"\n({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
