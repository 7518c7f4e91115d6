"""Made-up points and records: curves whose verdicts are known by hand, and records of every kind of run."""

from zlib import crc32

import numpy as np

from fairpot_paper.plan import ALPHAS, make_plan
from fairpot_paper.runs import DIALS, FINE, LAMS
from fairpot_paper.tables import Key, Points
from fairpot_paper.timing import METHODS

SEEDS = 20


def points(auc, gap, *, wobble=0.001, seeds=SEEDS, phase=0):
    """One row a seed: the given means, plus what the seed does to all methods, plus an own deviation.

    The deviation changes its sign from seed to seed, so that means over an even number stay exact. With another
    ``phase`` it has the other sign: the difference of two methods then wobbles twice as far.
    """
    auc, gap = np.atleast_1d(auc).astype(float), np.atleast_1d(gap).astype(float)
    seed = np.arange(seeds)[:, None]
    own = wobble * (-1.0) ** (seed + phase)
    common = 0.01 * np.sin(seed) - 0.01 * np.sin(np.arange(seeds)).mean()
    return Points(auc + common + own, gap + own)


def line(top, bottom, columns):
    """Go from one value to another along a dial."""
    return np.linspace(top, bottom, columns)


def key(data="compas", model="xgboost", method="fairpot", source="in_sample", region="", ties="half"):
    source = "test" if method in ("unadjusted", "wasserstein", "limit", "xgboost") else source
    return Key(data, model, region, source, ties, method)


def found_of(data="compas", model="xgboost", region="", **methods):
    """Points under every way of counting ties and every source."""
    made = {}
    for ties in ("strict", "half"):
        for source in ("in_sample", "crossfit"):
            for method, each in methods.items():
                made[key(data, model, method, source, region, ties)] = each
    return made


def fairpot_line(auc=(0.90, 0.85), gap=(0.3, 0.0), **options):
    """FairPOT at 101 lambdas: from the first to the second values of AUC and gap."""
    return points(line(*auc, len(FINE)), line(*gap, len(FINE)), **options)


def seeded(*words):
    return np.random.default_rng(crc32(" ".join(map(str, words)).encode()))


def series(width, *words):
    rng = seeded(*words)
    auc, gap = rng.uniform(0.6, 0.9), rng.uniform(0.05, 0.3)
    way = np.linspace(0, 1, width)
    noise = rng.normal(0, 0.002, (2, width))
    return {"auc": (auc - 0.05 * way + noise[0]).tolist(), "gap": (gap * (1 - way) + noise[1]).tolist()}


def _methods(names, *words):
    return {m: {t: series(len(DIALS.get(m, LAMS[:1])), *words, m, t) for t in ("strict", "half")} for m in names}


def _sources(run, place, *words, extra=()):
    fitted = ("fairpot", "fairpot_boundary", "fairpot_switched", "xorder", "post_logit", "optimal_merge")
    found = {"test": _methods(("unadjusted", "wasserstein", "limit", *extra), *run, place, *words)}
    for source in ("in_sample", "crossfit"):
        found[source] = _methods(fitted, *run, place, source, *words)
        for ties, series_ in found["test"]["unadjusted"].items():  # lambda = 0 gives back the model
            for figure in ("auc", "gap"):
                found[source]["fairpot"][ties][figure][0] = series_[figure][0]
    return found


def _at_alphas(*words):
    def at(place, region):
        rng = seeded(*words, place, region)
        each = {
            t: dict(zip(("auc", "gap", "xauc_ab", "xauc_ba"), rng.uniform(0.5, 0.9, 4))) for t in ("strict", "half")
        }
        return {"found": int(rng.integers(50)), "positives": 60, **each}

    return {region: [at(k, region) for k in range(len(ALPHAS))] for region in ("pooled", "group")}


def _times(run):
    timing = {"note": "", "converged": None, "error": None}
    made = {
        m: [{"wall": 0.2 + 0.01 * k, "cpu": 0.1 + 0.01 * k + i, **timing} for k in range(3)]
        for i, m in enumerate(METHODS)
    }
    made["emd_default"] = [dict(made["emd_default"][0], converged=False, error=0.5)]
    points_ = {m: series(11, *run, m) for m in ("fairpot", "emd_default", "emd_converged")}
    return {"machine": {"cpu": "made up", "cores": 2}, "rows": {}, "times": made, "points": points_}


def results_of(run):
    """What a run might have given."""
    words = (run.kind, run.data, run.seed, run.model)
    places = range(run.resamples or 1)
    if run.kind == "tradeoff":
        return {"tests": [_sources(words, place) for place in places]}
    if run.kind in ("partial", "edge"):
        regions = ("pooled", "group")
        return {"tests": [{r: _sources(words, place, r, extra=("xgboost",)) for r in regions} for place in places]}
    if run.kind == "classifiers":
        each = [
            {t: {"auc": seeded(*words, p, t).uniform(0.6, 0.9), "gap": 0.1} for t in ("strict", "half")} for p in places
        ]
        return {"train": each[0], "tests": each}
    if run.kind == "pauc":
        return {"alphas": list(ALPHAS), "tests": [_at_alphas(*words, p) for p in places]}
    if run.kind == "alpha":
        return {"tests": [{m: _at_alphas(*words, p, m) for m in ("xgboost", "one", "retrained")} for p in places]}
    return _times(words)


def make_records(seeds=2, only=()):
    """Return a record of every planned run."""
    made = []
    for run in make_plan(seeds, only):
        results = {"data_sha256": "0" * 64, "failed": [], **results_of(run)}
        made.append({"run": run.as_dict(), "versions": {"fairpot": "0"}, "status": "ok", "results": results})
    return made
