"""Rows that are followed for a time, and what they say counted the slow way, from the definitions alone."""

import numpy as np
import pandas as pd


def followed(n=400, seed=0, *, leave=0.5, by_score=0.0, competing=0.0, step=None, end=None, groups=(0.5, 0.5)):
    """Draw rows whose outcome comes at a rate that the score foretells; the first group is scored higher.

    They leave at a rate of their own, times ``exp(by_score * score)``; times are rounded up to ``step``, and follow-up
    ends for all at ``end``. ``full`` is the time of the outcome (or the competing event), known of everybody.
    """
    rng = np.random.default_rng(seed)
    group, risk = rng.choice(len(groups), n, p=groups), rng.normal(size=n)
    score = np.round(risk + 0.7 * rng.normal(size=n) + 0.5 * (group == 0), 4)
    had, out = (
        2.5 * rng.exponential(np.exp(-risk)),
        rng.exponential(1 / (leave * (1 + 0.6 * group) * np.exp(by_score * score))),
    )
    other = rng.exponential(np.exp(-0.5 * risk) / competing) if competing else np.full(n, np.inf)
    full, kind = np.minimum(had, other), np.where(had <= other, 1, 2)
    out = np.minimum(out, np.inf if end is None else end)
    if step:
        full, out = np.ceil(full / step) * step, np.ceil(out / step) * step
    time, event = np.minimum(full, out), np.where(full <= out, kind, 0)
    sex = np.array(["F", "M", "X"])[group]
    columns = {"score": score, "days": time, "died": event, "sex": sex, "full": full, "kind": kind}
    return pd.DataFrame(columns | {"weight": rng.choice([0.5, 1.0, 2.25], n), "patient": rng.integers(0, n // 2, n)})


def staying(time, event, weight, before):
    """Share that has not left before a time, by one factor for each time at which somebody left."""
    share = 1.0
    for u in np.unique(time[event == 0]):
        if u < before:
            leaving = weight[(time == u) & (event == 0)].sum()
            share *= 1 - leaving / (weight[time > u].sum() + leaving)
    return share


def had_by(time, event, weight, horizon):
    """Share that had the outcome by a horizon, as Aalen and Johansen count it: Kaplan and Meier's, of one event."""
    share, free = 0.0, 1.0
    for u in np.unique(time[(event > 0) & (time <= horizon)]):
        here, at_risk = (time == u) & (event > 0), weight[time >= u].sum()
        share += free * weight[here & (event == 1)].sum() / at_risk
        free *= 1 - weight[here].sum() / at_risk
    return share


def concordance(rows, strata, a, b, tau):
    """Share of pairs won, and what each row adds to its error, one pair at a time."""
    time, event, score, code, weight = rows.time, rows.event, rows.score, rows.code, rows.weight

    def stayed(i, u):
        mine = strata == strata[i]
        return staying(time[mine], event[mine], weight[mine], u)

    pairs = []
    for i in np.flatnonzero((code == a) & (event == 1) & (time <= tau)):
        for j in np.flatnonzero(code == b):
            if time[i] < time[j] or (time[i] == time[j] and event[j] != 1):
                worth = 1 / stayed(i, time[i]) / stayed(j, time[i])
            elif event[j] == 2:
                worth = 1 / stayed(i, time[i]) / stayed(j, time[j])
            else:
                continue
            won = 1.0 if score[i] > score[j] else 0.5 * (score[i] == score[j])
            pairs.append((i, j, worth * weight[i] * weight[j], won))
    total = sum(worth for _, _, worth, _ in pairs)
    share = sum(worth * won for _, _, worth, won in pairs) / total
    added = np.zeros((2, len(time)))
    for i, j, worth, won in pairs:
        added[0, i] += worth * (won - share) / total
        added[1, j] += worth * (won - share) / total
    return share, added
