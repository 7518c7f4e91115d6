"""A simulated stand-in for the paper's private clinical cohort."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.utils import Bunch

from fairpot._optional import make_frame
from fairpot.datasets.arguments import check_whole, make_rng
from fairpot.datasets.calibrate import calibrate_intercept
from fairpot.datasets.clinical_columns import (
    CHAPTERS,
    DIAGNOSES,
    FEMALE_ONLY,
    FROM_AGE_EIGHT,
    MALE_ONLY,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RATES = {"Male": 0.031, "Female": 0.010}
FIRST_DAY = np.datetime64("2015-01-01", "D")
LAST_DAY = np.datetime64("2023-12-31", "D")
SPLIT_DAY = np.datetime64("2022-01-01", "D")

# The loadings and effects are one fixed world, so that every random_state draws children from the same one.
_WORLD_SEED = 2015
_N_EFFECTS = 20
_AGE_EFFECT = 2.4
_EFFECT_SCALE = 0.745

_DESCR = """\
Simulated clinical cohort (no real patients)
--------------------------------------------
{n} simulated children, one row each, in the shape of the private cohort of the FairPOT paper: 21 demographic
columns, 229 binary diagnosis columns (dx_...), sex as the group, positive rates of {male:.1%} (male) and
{female:.1%} (female), visit dates from 2015 to 2023 with a split by time at {split}.

Every number is drawn from a random generator. Diagnoses are sparse and correlated through latent
conditions, one per chapter, and through how often a child is seen. The outcome depends on age, a few
demographic columns and a fixed, arbitrarily chosen set of diagnoses. Nothing here says anything about
medicine: which column carries signal is an accident of the simulation. Results on these data must be called
simulated wherever they appear.

There are no missing values, one visit per child, and no column that is derived from the outcome. The visit
date is given apart (`date`), as are the masks `train` (visits before {split}) and its complement, the later
visits.
"""


def make_clinical(n: int = 43_945, *, random_state: int | np.random.Generator | None = None) -> Bunch:
    """Simulate a clinical cohort in the shape of the paper's private one.

    The data are simulated: no patient, no hospital and no medical finding stands behind any column. The world
    (which diagnoses go together, which ones carry signal) is fixed; `random_state` draws the children.

    Parameters
    ----------
    n : int, default=43_945
        Number of rows, at least 1,000 (below that the rarer cells are empty).
    random_state : int, Generator or None, default=None
        Seed of the draw.

    Returns
    -------
    Bunch
        ``data`` (frame of 21 demographic and 229 diagnosis columns), ``target`` (0/1), ``group`` ("Male" /
        "Female"), ``date`` (day of the visit), ``train`` (True before ``split_date``), ``split_date``,
        ``simulated`` (True), ``feature_names``, ``demographic_names``, ``diagnosis_names``, ``DESCR``,
        ``source``, ``licence``.

    Examples
    --------
    >>> from fairpot.datasets import make_clinical
    >>> cohort = make_clinical(2_000, random_state=0)
    >>> cohort.data.shape, cohort.simulated
    ((2000, 250), True)
    >>> int(cohort.date[cohort.train].max() < cohort.split_date)
    1
    """
    few = (
        "below that a sex may lack positives before or after the split; draw more and take a sample, or make_synthetic."
    )
    n = check_whole(n, "n", 1000, few)
    rng = make_rng(random_state)
    date = _draw_dates(rng, n)
    demographics = _draw_demographics(rng, n, date)
    diagnoses = _draw_diagnoses(rng, demographics, date)
    target = _draw_labels(rng, demographics, diagnoses)
    columns: dict[str, Any] = {**demographics, **dict(zip(DIAGNOSES, diagnoses.T.astype(np.int8)))}
    return Bunch(
        data=make_frame(columns),
        target=target,
        group=demographics["sex"],
        date=date,
        train=date < SPLIT_DAY,
        split_date=SPLIT_DAY,
        simulated=True,
        feature_names=list(columns),
        demographic_names=list(demographics),
        diagnosis_names=list(DIAGNOSES),
        DESCR=_DESCR.format(n=n, male=RATES["Male"], female=RATES["Female"], split=SPLIT_DAY),
        source="simulated by fairpot.datasets.make_clinical",
        licence="same as fairpot (simulated data)",
    )


def _draw_dates(rng: np.random.Generator, n: int) -> NDArray[np.datetime64]:
    """Draw visit days, Monday to Friday, with volume growing by about 40 % over the nine years."""
    days = np.arange(FIRST_DAY, LAST_DAY + 1)
    volume = np.linspace(1.0, 1.4, len(days)) * np.is_busday(days)
    return np.asarray(rng.choice(days, size=n, p=volume / volume.sum()))


def _draw_demographics(rng: np.random.Generator, n: int, date: NDArray[np.datetime64]) -> dict[str, NDArray[Any]]:
    """Draw the 21 demographic columns."""

    def pick(shares: dict[str, float]) -> NDArray[np.str_]:
        return rng.choice(list(shares), size=n, p=np.array(list(shares.values())))

    deprivation = rng.integers(1, 11, size=n)
    weeks = _whole(40.5 - rng.gamma(2.0, 1.0, size=n), 24, 42)
    mother = _whole(rng.normal(30.5 - 0.25 * (deprivation - 5), 5.4), 15, 50)
    siblings = rng.poisson(0.85, size=n)
    public = rng.random(n) < 0.12 + 0.06 * deprivation
    age = _whole(12 + rng.gamma(1.7, 34.0, size=n), 12, 215)
    language = pick({"English": 0.82, "Spanish": 0.12, "other": 0.06})
    years = (date - FIRST_DAY).astype(np.int64) / 365.25
    seen_at_most = np.minimum(age, 6 + 12 * (years + 3))
    return {
        "age_months": age,
        "sex": pick({"Male": 0.51, "Female": 0.49}),
        "race": pick({"White": 0.48, "Black": 0.24, "Asian": 0.07, "other": 0.13, "unknown": 0.08}),
        "ethnicity": pick({"not Hispanic": 0.80, "Hispanic": 0.15, "unknown": 0.05}),
        "language": language,
        "interpreter": ((language != "English") & (rng.random(n) < 0.45)).astype(np.int8),
        "insurance": np.where(public, "public", np.where(rng.random(n) < 0.93, "private", "self-pay")),
        "urbanicity": pick({"urban": 0.46, "suburban": 0.38, "rural": 0.16}),
        "deprivation_decile": deprivation,
        "distance_km": np.round(rng.lognormal(2.4, 0.8, size=n), 1),
        "household_size": 2 + siblings + rng.poisson(1.0, size=n),
        "older_siblings": siblings,
        "mother_age_at_birth": mother,
        "father_age_at_birth": _whole(mother + rng.normal(2.6, 4.2, size=n), 15, 65),
        "mother_education": pick({"less than high school": 0.11, "high school": 0.42, "college": 0.47}),
        "gestational_weeks": weeks,
        "birth_weight_g": _whole(rng.normal(3400 - 165 * (40 - weeks), 420), 500, 5200),
        "cesarean": (rng.random(n) < 0.31).astype(np.int8),
        "multiple_birth": (rng.random(n) < np.where(weeks < 37, 0.12, 0.02)).astype(np.int8),
        "months_followed": _whole(seen_at_most * rng.beta(2.5, 1.2, size=n), 0, 215),
        "visits_last_year": rng.negative_binomial(2, 2 / (2 + 3.5), size=n),
    }


def _whole(values: Floats, low: int, high: int) -> NDArray[np.int64]:
    """Round to whole numbers between two ends."""
    return np.clip(np.round(values), low, high).astype(np.int64)


def _draw_diagnoses(
    rng: np.random.Generator, demographics: dict[str, NDArray[Any]], date: NDArray[np.datetime64]
) -> Bools:
    """Draw the 229 diagnosis columns from latent conditions (one a chapter), contact with care and time."""
    world = np.random.default_rng(_WORLD_SEED)
    n, width = len(date), len(DIAGNOSES)
    chapter = np.repeat(np.arange(len(CHAPTERS)), [len(names) for names in CHAPTERS.values()])
    second = world.integers(len(CHAPTERS), size=width)
    base = logit(_base_rates())
    own, other = world.uniform(0.6, 1.3, size=width), world.uniform(0.0, 0.6, size=width)
    contact_slope, drift = world.uniform(0.2, 0.6, size=width), world.normal(0.0, 0.02, size=width)

    latent = rng.normal(size=(n, len(CHAPTERS)))
    contact = np.log1p(demographics["visits_last_year"]) + 0.004 * demographics["months_followed"]
    contact = (contact - contact.mean()) / contact.std()
    years = (date - FIRST_DAY).astype(np.int64) / 365.25 - 4.5
    linear = base - 0.5 + latent[:, chapter] * own + latent[:, second] * other
    linear += np.outer(contact, contact_slope) + np.outer(years, drift)
    drawn: Bools = rng.random((n, width)) < expit(linear)
    return drawn & _possible(demographics) | _implied(rng, demographics)


def _base_rates() -> Floats:
    """Return how common each diagnosis is for an average child: from 1 in 1,000 to 1 in 8, mostly rare."""
    world = np.random.default_rng(_WORLD_SEED + 2)
    return np.exp(world.uniform(np.log(0.001), np.log(0.12), size=len(DIAGNOSES)))


def _possible(demographics: dict[str, NDArray[Any]]) -> Bools:
    """Mark the cells that a child of that sex, age and birth history can have."""
    possible = np.ones((len(demographics["sex"]), len(DIAGNOSES)), dtype=bool)
    for j, name in enumerate(DIAGNOSES):
        if name in MALE_ONLY:
            possible[:, j] &= demographics["sex"] == "Male"
        if name in FEMALE_ONLY:
            possible[:, j] &= demographics["sex"] == "Female"
        if name in FROM_AGE_EIGHT:
            possible[:, j] &= demographics["age_months"] >= 96
        if name == "dx_short_gestation":
            possible[:, j] &= demographics["gestational_weeks"] < 37
    return possible


def _implied(rng: np.random.Generator, demographics: dict[str, NDArray[Any]]) -> Bools:
    """Mark the cells that follow from another column: most preterm births are coded as such."""
    implied = np.zeros((len(demographics["sex"]), len(DIAGNOSES)), dtype=bool)
    coded = rng.random(len(implied)) < 0.85
    implied[:, DIAGNOSES.index("dx_short_gestation")] = coded & (demographics["gestational_weeks"] < 37)
    return implied


def _draw_labels(
    rng: np.random.Generator, demographics: dict[str, NDArray[Any]], diagnoses: Bools
) -> NDArray[np.int64]:
    """Draw the outcome: a logistic model whose intercept is calibrated to each sex's rate."""
    risk = _risk(demographics, diagnoses)
    probability = np.empty(len(risk))
    for sex, rate in RATES.items():
        rows = demographics["sex"] == sex
        probability[rows] = expit(risk[rows] + calibrate_intercept(risk[rows], rate))
    target = np.zeros(len(risk), dtype=np.int64)
    for sex in RATES:
        rows = np.flatnonzero(demographics["sex"] == sex)
        target[rows] = _systematic_draw(rng, probability[rows])
    return target


def _risk(demographics: dict[str, NDArray[Any]], diagnoses: Bools) -> Floats:
    """Add up the fixed effects: age, three demographic columns, diagnoses (stronger from age 2 to 5)."""
    world = np.random.default_rng(_WORLD_SEED + 1)
    chosen = world.choice(np.flatnonzero(_base_rates() > 0.02), size=_N_EFFECTS, replace=False)
    effects = np.zeros(len(DIAGNOSES))
    effects[chosen] = world.gamma(3.0, 1 / 3, size=_N_EFFECTS) * world.choice([1, 1, 1, -1], size=_N_EFFECTS)
    months = demographics["age_months"].astype(np.float64)
    early = np.exp(-(((months - 44) / 20) ** 2))
    age = _AGE_EFFECT * early - 0.5 * (months > 120)
    social = 0.03 * (demographics["father_age_at_birth"] - 33) + 0.12 * np.log1p(demographics["visits_last_year"])
    social = social - 0.25 * (demographics["interpreter"] == 1)
    risk: Floats = _EFFECT_SCALE * ((0.4 + 1.2 * early) * (diagnoses @ effects) + age + social)
    return risk


def _systematic_draw(rng: np.random.Generator, probability: Floats) -> NDArray[np.int64]:
    """Draw 0/1 with the given probabilities and a total within one of their sum, in random order."""
    order = rng.permutation(len(probability))
    running = np.floor(np.concatenate([[0.0], np.cumsum(probability[order])]) + rng.random())
    drawn = np.empty(len(probability), dtype=np.int64)
    drawn[order] = np.diff(running).astype(np.int64)
    return drawn
