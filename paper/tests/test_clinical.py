"""The simulated cohort, looked at as an analyst would look at a real one."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from fairpot_paper.clinical import DIAGNOSES, make_clinical


@pytest.fixture(scope="module")
def cohort():
    return make_clinical(random_state=0)


@pytest.fixture(scope="module")
def diagnoses(cohort):
    return cohort.data[cohort.diagnosis_names].to_numpy()


def test_shape(cohort):
    assert cohort.data.shape == (43_945, 250)
    assert len(cohort.demographic_names) == 21
    assert len(cohort.diagnosis_names) == len(set(DIAGNOSES)) == 229
    assert cohort.feature_names == list(cohort.data.columns)
    assert not cohort.data.isna().any().any()


def test_says_simulated(cohort):
    assert cohort.simulated is True
    assert cohort.DESCR.startswith("Simulated")
    assert "simulated" in cohort.source


def test_rates_by_sex(cohort):
    assert set(cohort.group) == {"Male", "Female"}
    assert cohort.target[cohort.group == "Male"].mean() == pytest.approx(0.031, abs=1e-4)
    assert cohort.target[cohort.group == "Female"].mean() == pytest.approx(0.010, abs=1e-4)
    assert cohort.target.dtype == np.int64
    assert (cohort.data["sex"].to_numpy() == cohort.group).all()


def test_visits_run_from_2015_to_2023_and_split_by_time(cohort):
    assert str(cohort.date.min()) < "2015-02"
    assert str(cohort.date.max()) > "2023-11"
    assert cohort.date[cohort.train].max() < cohort.split_date <= cohort.date[~cohort.train].min()
    assert 0.7 < cohort.train.mean() < 0.8
    assert not any("date" in name or name == "year" for name in cohort.feature_names)
    late = [cohort.target[~cohort.train & (cohort.group == g)].sum() for g in ("Male", "Female")]
    assert min(late) >= 30


def test_diagnoses_are_binary_sparse_and_go_together(diagnoses):
    assert set(np.unique(diagnoses)) == {0, 1}
    prevalence = diagnoses.mean(axis=0)
    assert prevalence.min() > 0
    assert prevalence.max() < 0.25
    assert 0.01 < prevalence.mean() < 0.05
    correlation = np.corrcoef(diagnoses, rowvar=False)
    off = np.abs(correlation[np.triu_indices(229, k=1)])
    assert (off > 0.05).sum() > 100
    assert off.max() < 0.5


def test_nobody_carries_an_impossible_code(cohort):
    data = cohort.data
    assert not (data["dx_phimosis"].to_numpy()[cohort.group == "Female"]).any()
    assert not (data["dx_menstrual_disorder"].to_numpy()[cohort.group == "Male"]).any()
    assert not (data["dx_substance_related_disorder"][data["age_months"] < 96]).any()
    assert not (data["dx_short_gestation"][data["gestational_weeks"] >= 37]).any()
    assert (data["household_size"] >= 2 + data["older_siblings"]).all()
    assert (data["months_followed"] <= data["age_months"]).all()


def test_no_column_gives_the_label_away(cohort, diagnoses):
    for name in cohort.demographic_names:
        values = cohort.data[name]
        if values.dtype.kind in "iuf":
            auc = roc_auc_score(cohort.target, values)
            assert max(auc, 1 - auc) < 0.7, name
        else:
            assert max(cohort.target[values == level].mean() for level in values.unique()) < 0.06, name
    with_code = [cohort.target[column == 1].mean() for column in diagnoses.T if column.sum() >= 50]
    assert max(with_code) < 0.2
    assert not any("autis" in name or "developmental" in name for name in cohort.feature_names)


def test_seed_decides_everything():
    one, two, other = (make_clinical(2_000, random_state=s) for s in (5, 5, 6))
    assert one.data.equals(two.data)
    np.testing.assert_array_equal(one.target, two.target)
    np.testing.assert_array_equal(one.date, two.date)
    assert not one.data.equals(other.data)


def test_too_few_rows():
    with pytest.raises(ValueError, match="n must be at least 1000"):
        make_clinical(200)
    with pytest.raises(ValueError, match="random_state must be a whole number, at least 0"):
        make_clinical(random_state=-1)


@pytest.mark.parametrize("n", ["a", 1000.5])
def test_rows_that_are_no_number(n):
    with pytest.raises(TypeError, match="n must be a whole number, at least 1000, got"):
        make_clinical(n)
