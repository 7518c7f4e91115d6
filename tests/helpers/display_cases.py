"""Rows to draw and to report on."""

import numpy as np


def make_rows(n=900, groups=("F", "M"), seed=0, shift=0.12):
    """Generate scores, outcomes and groups; later groups score higher."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(groups), n)
    y = (rng.random(n) < 0.35).astype(np.int8)
    scores = np.clip(rng.normal(0.35 + 0.18 * y + shift * codes, 0.16), 0, 1).round(3)
    return scores, y, np.array(groups, dtype=object)[codes]
