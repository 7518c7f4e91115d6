"""A simulated stand-in for the paper's private clinical cohort."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.utils import Bunch

from fairpot._optional import make_frame
from fairpot._validation import check_whole
from fairpot.datasets.synthetic import calibrate_intercept, make_rng
from fairpot.transport import Floats

_NAMES_BY_CHAPTER = {
    "infections": (
        "septicemia bacterial_infection mycoses hepatitis viral_infection other_infections "
        "sexually_transmitted_infection immunization_encounter parasitic_infection "
        "herpesvirus_infection varicella scarlet_fever lyme_disease pertussis_exposure"
    ),
    "neoplasms": ("brain_cancer leukemia lymphoma benign_neoplasm_skin benign_neoplasm_other hemangioma"),
    "endocrine": (
        "thyroid_disorder diabetes_type_1 diabetes_type_2 nutritional_deficiency lipid_disorder "
        "fluid_electrolyte_disorder cystic_fibrosis immunity_disorder growth_hormone_disorder "
        "precocious_puberty obesity metabolic_disorder vitamin_d_deficiency failure_to_thrive"
    ),
    "blood": (
        "iron_deficiency_anemia acute_posthemorrhagic_anemia sickle_cell_anemia coagulation_disorder "
        "white_cell_disease thrombocytopenia lymphadenopathy other_hematologic"
    ),
    "mental": (
        "adjustment_disorder anxiety_disorder attention_deficit_disorder conduct_disorder mood_disorder "
        "impulse_control_disorder substance_related_disorder self_harm mental_health_screening "
        "miscellaneous_mental_disorder sleep_disturbance eating_disorder tic_disorder "
        "elimination_disorder"
    ),
    "nervous": (
        "meningitis encephalitis cns_infection_other hereditary_nervous_condition paralysis epilepsy "
        "febrile_convulsions headache_migraine coma_brain_damage movement_disorder neuropathy "
        "cerebral_palsy hydrocephalus gait_abnormality hypotonia syncope"
    ),
    "eye": (
        "retinal_disorder glaucoma blindness_low_vision eye_inflammation refractive_error strabismus "
        "conjunctivitis eyelid_disorder other_eye_disorder"
    ),
    "ear": (
        "otitis_media conditions_of_ear hearing_loss dizziness_vertigo tympanostomy_encounter "
        "eustachian_tube_disorder cerumen_impaction external_ear_infection"
    ),
    "circulatory": (
        "heart_valve_disorder cardiomyopathy hypertension cardiac_dysrhythmia conduction_disorder "
        "heart_failure pulmonary_heart_disease cerebrovascular_disease phlebitis hypotension "
        "heart_murmur nonspecific_chest_pain"
    ),
    "respiratory": (
        "pneumonia influenza tonsillitis acute_bronchitis upper_respiratory_infection asthma "
        "chronic_respiratory_disease aspiration_pneumonitis respiratory_failure lung_disease_external "
        "croup bronchiolitis allergic_rhinitis sinusitis sleep_apnea laryngeal_disorder"
    ),
    "digestive": (
        "intestinal_infection teeth_disorder mouth_disease esophageal_disorder gastritis appendicitis "
        "peritonitis abdominal_hernia regional_enteritis intestinal_obstruction anal_condition "
        "biliary_tract_disease liver_disease pancreatic_disorder gastrointestinal_hemorrhage "
        "gastroenteritis constipation celiac_disease feeding_difficulty gastroesophageal_reflux "
        "food_allergy"
    ),
    "genitourinary": (
        "nephritis acute_renal_failure chronic_kidney_disease urinary_tract_infection kidney_stones "
        "kidney_disorder_other genitourinary_symptoms vesicoureteral_reflux "
        "inflammatory_genital_disease menstrual_disorder hydrocele enuresis phimosis"
    ),
    "skin": (
        "skin_infection contact_dermatitis atopic_dermatitis acne urticaria psoriasis skin_ulcer "
        "diaper_dermatitis impetigo warts alopecia nail_disorder other_skin_disorder"
    ),
    "musculoskeletal": (
        "infective_arthritis juvenile_arthritis joint_disorder_other spondylosis_back_problem "
        "pathological_fracture acquired_foot_deformity acquired_deformity_other lupus "
        "connective_tissue_disease bone_disease_other scoliosis limb_pain torticollis plagiocephaly"
    ),
    "congenital": (
        "cardiac_congenital_anomaly digestive_congenital_anomaly genitourinary_congenital_anomaly "
        "nervous_system_congenital_anomaly cleft_lip_palate chromosomal_anomaly limb_congenital_anomaly "
        "skin_congenital_anomaly other_congenital_anomaly"
    ),
    "perinatal": (
        "short_gestation intrauterine_hypoxia respiratory_distress hemolytic_jaundice birth_trauma "
        "neonatal_feeding_problem neonatal_infection neonatal_hypoglycemia other_perinatal_condition"
    ),
    "injury": (
        "joint_dislocation skull_fracture upper_limb_fracture lower_limb_fracture other_fracture "
        "sprain_strain intracranial_injury crushing_injury open_wound_head open_wound_extremity burns "
        "superficial_injury foreign_body complication_of_device complication_of_procedure "
        "poisoning_medication poisoning_other insect_bite"
    ),
    "symptoms": (
        "fever_unknown_origin nausea_vomiting abdominal_pain malaise_fatigue allergic_reaction rash "
        "cough abnormal_weight rehabilitation_encounter administrative_encounter well_child_encounter "
        "screening_other aftercare_encounter social_determinants residual_codes"
    ),
}

CHAPTERS: dict[str, tuple[str, ...]] = {
    chapter: tuple(f"dx_{name}" for name in names.split()) for chapter, names in _NAMES_BY_CHAPTER.items()
}
DIAGNOSES: tuple[str, ...] = tuple(name for names in CHAPTERS.values() for name in names)

# Plausibility of the table, not medicine: who can carry a code at all.
MALE_ONLY = frozenset({"dx_hydrocele", "dx_phimosis"})
FEMALE_ONLY = frozenset({"dx_menstrual_disorder"})
FROM_AGE_EIGHT = frozenset(
    {
        "dx_acne",
        "dx_eating_disorder",
        "dx_menstrual_disorder",
        "dx_self_harm",
        "dx_sexually_transmitted_infection",
        "dx_substance_related_disorder",
    }
)


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

    The data are simulated: no column comes from a patient, a hospital or a medical finding. The world
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
    >>> from fairpot_paper.clinical import make_clinical
    >>> cohort = make_clinical(2_000, random_state=0)
    >>> cohort.data.shape, cohort.simulated
    ((2000, 250), True)
    >>> int(cohort.date[cohort.train].max() < cohort.split_date)
    1
    """
    few = (
        "below that a sex may have nobody with the outcome in one half; draw more and take a sample, or make_synthetic."
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
        source="simulated by fairpot_paper.clinical.make_clinical",
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
