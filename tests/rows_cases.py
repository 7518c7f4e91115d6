"""Two groups with risk scores."""

import numpy as np


def draw(n=400, seed=0, digits=3):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    score = np.round(rng.beta(2, 3, n) * np.where(sex == "M", 1.0, 0.75), digits)
    return score, (rng.random(n) < score + 0.1 * (sex == "F")).astype(int), sex
