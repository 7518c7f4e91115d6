"""The paper's claims in our words, how each is tested, and what the records say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fairpot.experiments.claims_of_models import best_classifier, boosting_is_best, partial_models, trend_over_alpha
from fairpot.experiments.claims_of_time import faster_than_baseline, slower_than_baseline
from fairpot.experiments.collect import Key, Points, Record, mean_of
from fairpot.experiments.frontier import Found, Judged, dominance, improves_both, same_frontier, tenths
from fairpot.experiments.plan import PARTIAL
from fairpot.experiments.sets import DATA_SETS
from fairpot.experiments.verdicts import FAILS, HOLDS, OPEN, all_of, is_above, paired

NEARLY_ALL = 9  # of eleven values: "almost the entire curve"
SAME_POINT = 0.001  # of AUC and of the gap: a point that is passed through
NOTABLE = 0.01  # of AUC: "substantial", "notable"
Judge = Callable[["Evidence", str, str, str], Judged | None]


class Evidence(NamedTuple):
    """What claims are judged by."""

    found: Found
    records: list[Record]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper about one data set, and the function that judges it.

    ``judge(evidence, data, ties, source)`` returns None where nothing was run. A claim that does not depend on ties or
    on what the maps were fitted on is judged once.
    """

    number: str
    says: str
    how: str
    data: str
    judge: Judge
    once: bool = False

    def verdicts(self, evidence: Evidence) -> dict[str, Judged]:
        """Judge by strict and half ties with the paper's protocol, and by half ties with cross-fitted maps."""
        ways = {"once": ("half", "in_sample")} if self.once else WAYS
        made = {name: self.judge(evidence, self.data, *way) for name, way in ways.items()}
        return {name: judged for name, judged in made.items() if judged is not None}


WAYS = {"strict": ("strict", "in_sample"), "half": ("half", "in_sample"), "crossfit": ("half", "crossfit")}


def _key(data: str, model: str, ties: str, source: str, region: str = "") -> Key:
    return Key(data, model, region, source, ties, "fairpot")


def _dominates(model: str) -> Judge:
    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        return dominance(evidence.found, _key(data, model, ties, source))

    return judge


def _start(evidence: Evidence, key: Key) -> Points | None:
    return evidence.found.get(key._replace(source="test", method="unadjusted"))


def _recovers(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare lambda = 0 with the scores as they came, in every run there is."""
    exact: list[float] = []
    boundary: list[float] = []
    for key, points in evidence.found.items():
        start = _start(evidence, key)
        if start is None or key.data != data or key.ties != ties or key.source != source:
            continue
        change = np.maximum(np.abs(points.auc[:, 0] - start.auc[:, 0]), np.abs(points.gap[:, 0] - start.gap[:, 0]))
        {"fairpot": exact, "fairpot_boundary": boundary}.get(key.method, []).append(float(np.nanmax(change)))
    if not exact:
        return None
    text = f"largest change {max(exact):.4f}; with the paper's boundary value {max(boundary):.4f}"
    return Judged(HOLDS if max(exact) == 0 else FAILS, text)


def _inside(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Look for a lambda with a higher AUC and a smaller gap than the scores as they came."""
    key = _key(data, "xgboost", ties, source)
    start = _start(evidence, key)
    if start is None:
        return None
    return _some_lambda(improves_both(tenths(evidence.found[key]), start, data))


def _some_lambda(changes: list[Any]) -> Judged:
    sure = [k for k, change in enumerate(changes) if change[1]]
    means = [k for k, change in enumerate(changes) if change[0]]
    best = max(range(len(changes)), key=lambda k: (k in sure, k in means, changes[k][2].mean))
    text = f"lambda {best / 10:g}: AUC {changes[best][2]}, gap smaller by {changes[best][3]}"
    verdict = HOLDS if sure else OPEN if means else FAILS
    return Judged(verdict, f"both better in means at {len(means)} of {len(changes)} lambdas; {text}")


def _almost_everywhere(changes: list[Any]) -> Judged:
    sure, means = sum(change[1] for change in changes), sum(change[0] for change in changes)
    verdict = HOLDS if sure >= NEARLY_ALL else FAILS if means < NEARLY_ALL else OPEN
    return Judged(verdict, f"both better at {means} of {len(changes)} lambdas in means, at {sure} beyond error")


def _jointly(region: str, everywhere: bool, boundary: bool = False, against: str = "xgboost") -> Judge:
    """Compare FairPOT in the top alpha with the boosted trees' scores, or with the network's own, as they came."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        key = _key(data, PARTIAL, ties, source, region)
        start = evidence.found.get(key._replace(source="test", method=against))
        ours = evidence.found.get(key._replace(method="fairpot_boundary" if boundary else "fairpot"))
        if start is None or ours is None:
            return None
        changes = improves_both(ours if boundary else tenths(ours), start, data)
        return _almost_everywhere(changes) if everywhere else _some_lambda(changes)

    return judge


def _xorder_misses(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Find the point of xOrder that comes nearest to the scores as they came."""
    key = _key(data, "xgboost", ties, source)
    start, theirs = _start(evidence, key), evidence.found.get(key._replace(method="xorder"))
    if start is None or theirs is None:
        return None
    away = np.maximum(
        np.abs(mean_of(theirs.auc) - mean_of(start.auc)), np.abs(mean_of(theirs.signed_gap) - mean_of(start.signed_gap))
    )
    k = int(np.argmin(away))
    auc = paired(theirs.auc[:, k], start.auc[:, 0], data)
    gap = paired(theirs.signed_gap[:, k], start.signed_gap[:, 0], data)
    apart = [abs(each.mean) > SAME_POINT and (each.above or each.below) for each in (auc, gap)]
    verdict = HOLDS if any(apart) else FAILS if away[k] <= SAME_POINT else OPEN
    return Judged(verdict, f"nearest at lambda {k / 10:g}: AUC {auc}, signed gap {gap}")


def _xorder_jumps(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Compare the largest step of the gap between neighbouring lambdas, as a share of all it moves."""
    key = _key(data, "xgboost", ties, source)
    theirs = evidence.found.get(key._replace(method="xorder"))
    if theirs is None:
        return None
    shares = []
    for points in (theirs, tenths(evidence.found[key])):
        steps = np.abs(np.diff(points.signed_gap, axis=1))
        shares.append(steps.max(axis=1) / np.maximum(steps.sum(axis=1), 1e-12))
    more = paired(shares[0], shares[1], data)
    text = f"largest of ten steps {shares[0].mean():.0%} of the way (FairPOT {shares[1].mean():.0%})"
    return Judged(is_above(more), text)


def _direction(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    key = _key(data, "xgboost", ties, source)
    other = evidence.found.get(key._replace(method="fairpot_switched"))
    return None if other is None else same_frontier(evidence.found[key], other, data)


def _barycentre_on_clinical(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
    """Ask for a smaller gap than FairPOT's smallest, at a loss of AUC of more than 0.01."""
    key = _key(data, "xgboost", ties, source)
    start, theirs = _start(evidence, key), evidence.found.get(key._replace(source="test", method="wasserstein"))
    if start is None or theirs is None:
        return None
    ours = tenths(evidence.found[key])
    k = int(np.argmin(mean_of(ours.gap)))
    gap = paired(ours.gap[:, k], theirs.gap[:, -1], data)
    loss = paired(start.auc[:, 0] - NOTABLE, theirs.auc[:, -1], data)
    full = paired(theirs.auc[:, -1], start.auc[:, 0], data)
    return Judged(all_of([is_above(gap), is_above(loss)]), f"gap smaller than FairPOT's by {gap}; AUC {full}")


def _xorder_in_the_top(region: str) -> Judge:
    """Compare the gap at xOrder's highest partial AUC with that of the boosted trees as they came."""

    def judge(evidence: Evidence, data: str, ties: str, source: str) -> Judged | None:
        key = _key(data, PARTIAL, ties, source, region)
        start = evidence.found.get(key._replace(source="test", method="xgboost"))
        theirs = evidence.found.get(key._replace(method="xorder"))
        if start is None or theirs is None:
            return None
        ours = tenths(evidence.found[key])
        k, own = int(np.argmax(mean_of(theirs.auc))), int(np.argmax(mean_of(ours.auc)))
        higher = paired(theirs.auc[:, k], ours.auc[:, own], data)
        wider = paired(theirs.gap[:, k], start.gap[:, 0], data)
        return Judged(all_of([is_above(higher), is_above(wider)]), f"pAUC {higher} over FairPOT's best; gap {wider}")

    return judge


def make_claims() -> list[Claim]:
    """List the claims in the order of the paper, one for each data set that they are about."""
    return [*_of_the_whole_ranking(), *_of_the_top(), *_of_time_and_models()]


def _of_the_whole_ranking() -> Iterator[Claim]:
    how = (
        "Every point of Post-logit, xOrder (eleven lambdas) and Wasserstein that none of the same method beats, "
        "against the highest AUC of FairPOT's eleven lambdas whose mean gap is not larger; paired over seeds."
    )
    for data in ("synthetic", "draws", "bank", "compas"):
        yield Claim("1", "FairPOT has a higher AUC than every baseline at every gap", how, data, _dominates("xgboost"))
    says = "FairPOT has a higher AUC than the baselines at most gaps (the paper: autism data)"
    yield Claim("1", says, how, "clinical", _dominates("xgboost"))
    yield Claim(
        "2",
        "Wasserstein has a smaller gap than FairPOT on the clinical data, at a substantial loss of AUC",
        f"Its gap against FairPOT's smallest; its AUC against the unadjusted one less {NOTABLE:g}.",
        "clinical",
        _barycentre_on_clinical,
    )
    for data in DATA_SETS:
        how = "AUC and gap at lambda = 0 against the scores as they came, in all runs, whole and partial: equal or not."
        yield Claim("3", "lambda = 0 gives back the model", how, data, _recovers)
    for data in DATA_SETS:
        how = "One of eleven lambdas with a higher AUC and a smaller gap than the scores as they came."
        yield Claim("4", "The unadjusted point lies strictly inside FairPOT's frontier", how, data, _inside)
    for data in DATA_SETS:
        how = f"xOrder's nearest point to the unadjusted one: further than {SAME_POINT:g} in AUC or gap, beyond error."
        yield Claim("5", "xOrder does not pass through the unadjusted point", how, data, _xorder_misses)
    for data in DATA_SETS:
        how = "The largest of ten steps of the dial, as a share of all that the gap moves; paired over seeds."
        yield Claim("6", "xOrder is more sensitive to its dial than FairPOT", how, data, _xorder_jumps)
    for model, title in (("gradient_boosting", "Gradient Boosting"), ("random_forest", "Random Forest")):
        for data in DATA_SETS:
            says = f"With {title}, FairPOT has a higher AUC than every baseline at every gap"
            yield Claim("7", says, "As claim 1, on the scores of that model.", data, _dominates(model))
    for data in DATA_SETS:
        how = (
            "The highest AUC within each gap of 0, 0.01, ..., 0.3, over 101 lambdas either way: less than 0.005 apart."
        )
        yield Claim("8", "Which group is moved makes a negligible difference", how, data, _direction)


def _of_the_top() -> Iterator[Claim]:
    how = "The eleven lambdas against XGBoost's scores as they came: partial AUC higher and gap smaller, beyond error"
    for region, title in (("pooled", "the top of all rows"), ("group", "the top of each group")):
        for data in DATA_SETS:
            everywhere = data not in ("synthetic", "draws")
            says = (
                f"Partial AUC and gap both improve {'almost everywhere' if everywhere else 'at some lambdas'}; {title}"
            )
            test = f"{how}, at {NEARLY_ALL if everywhere else 1} of 11 at least."
            yield Claim("9", says, test, data, _jointly(region, everywhere))
            yield Claim("9b", f"{says}; the paper's boundary value", test, data, _jointly(region, everywhere, True))
            test = test.replace("XGBoost's scores", "the network's own scores")
            own = _jointly(region, everywhere, against="unadjusted")
            yield Claim("9c", f"{says}; over the network as it came", test, data, own)
    for data in DATA_SETS:
        how = "xOrder's highest partial AUC: above FairPOT's highest, and with a larger gap than XGBoost's scores have."
        says = "xOrder reaches a higher partial AUC, at a gap larger than the unadjusted one"
        yield Claim("10", says, how, data, _xorder_in_the_top("pooled"))


def _of_time_and_models() -> Iterator[Claim]:
    for data in DATA_SETS:
        if data != "draws":
            how = "Mean CPU seconds: a fit and eleven sets of scores, called as a user would."
            yield Claim("11", "FairPOT is faster than xOrder", how, data, faster_than_baseline, once=True)
            says = "Post-logit and Wasserstein are faster than FairPOT"
            yield Claim("12", says, how, data, slower_than_baseline, once=True)
    for data in DATA_SETS:
        how = "Paired difference to the best of the others (half ties)."
        yield Claim(
            "13", "The classifier that the paper marks has the highest AUC", how, data, best_classifier, once=True
        )
    how = "Mean of the four data sets' AUC; Synthetic is the one draw, the clinical data are simulated."
    yield Claim("14", "XGBoost has the highest AUC on average", how, "", boosting_is_best, once=True)
    for data in DATA_SETS:
        how = "Partial AUC in the top of all rows, paired with each of the other two."
        yield Claim("15", "Of (a), (b) and (c) the one that the paper marks is best", how, data, partial_models)
    how = "Between alpha = 0.1 and 1, the model trained anew for each alpha, over resamples."
    for figure, title in (("auc", "pAUC"), ("xauc", "pxAUC")):
        says = f"XGBoost's {title} rises with alpha; after training for partial AUC it falls"
        yield Claim("16", says, how, "clinical", trend_over_alpha(figure))
