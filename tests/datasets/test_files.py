"""Bank and COMPAS against the published files, read a second time with pandas."""

import re

import numpy as np
import pandas as pd
import pytest

from fairpot.datasets import fetch_bank, fetch_compas


@pytest.fixture(scope="module")
def bank(data_home):
    return fetch_bank(data_home=data_home)


@pytest.fixture(scope="module")
def compas(data_home):
    return fetch_compas(data_home=data_home)


@pytest.fixture(scope="module")
def compas_file(data_home):
    return pd.read_csv(data_home / "compas-scores-two-years.csv", keep_default_na=False)


def rates(bunch):
    return {g: round(100 * bunch.target[bunch.group == g].mean(), 1) for g in np.unique(bunch.group)}


def test_bank_equals_the_file(bank, data_home):
    raw = pd.read_csv(data_home / "bank-full.csv", sep=";")
    y = raw.pop("y")
    assert bank.data.shape == (45_211, 16)
    assert bank.feature_names == list(raw.columns) == list(bank.data.columns)
    for name in raw:
        assert bank.data[name].tolist() == raw[name].tolist(), name
    np.testing.assert_array_equal(bank.target, (y == "yes").astype(int))
    np.testing.assert_array_equal(bank.group == "age < 25", raw["age"] < 25)


def test_bank_rates_are_the_papers(bank):
    assert rates(bank) == {"age < 25": 25.6, "age >= 25": 11.4}
    assert (bank.group == "age < 25").sum() == 809
    by_the_text = bank.data["age"] <= 25
    assert [round(100 * bank.target[of].mean(), 1) for of in (by_the_text, ~by_the_text)] == [24.0, 11.3]


def test_compas_equals_the_file(compas, compas_file):
    assert compas.data.shape == (7_214, 12)
    assert compas.feature_names == list(compas.data.columns)
    for name in compas.feature_names:
        if name != "c_charge_desc":
            assert compas.data[name].tolist() == compas_file[name].tolist(), name
    np.testing.assert_array_equal(compas.target, compas_file["two_year_recid"])
    np.testing.assert_array_equal(compas.group, compas_file["sex"])


def test_compas_rates_are_the_papers(compas):
    assert rates(compas) == {"Male": 47.3, "Female": 35.7}
    assert (compas.group == "Male").mean() == pytest.approx(0.807, abs=5e-4)


def test_compas_rare_charges_are_grouped(compas, compas_file):
    charges, raw = compas.data["c_charge_desc"], compas_file["c_charge_desc"]
    counts = raw.value_counts()
    expected = raw.where(raw.map(counts) >= 20, "other").where(raw != "", "missing")
    assert charges.tolist() == expected.tolist()


def test_compas_without_the_assessment(compas, data_home):
    plain = fetch_compas(data_home=data_home, with_scores=False)
    assert plain.data.shape == (7_214, 10)
    assert plain.feature_names == [n for n in compas.feature_names if n not in ("decile_score", "score_text")]


def test_nothing_that_leaks_or_names_a_person_survives(compas, compas_file):
    banned = re.compile(
        r"^(id|name|first|last|dob|is_|r_|vr_|v_|violent|event|start|end|in_|out_)|date|custody|jail|case|days|recid"
    )
    assert [name for name in compas.feature_names if banned.search(name)] == []
    cells = {str(v) for name in compas.feature_names for v in compas.data[name].unique()}
    assert not any(re.fullmatch(r"\d{4}-\d\d-\d\d.*", cell) for cell in cells)
    assert cells.isdisjoint(set(compas_file["name"]) | set(compas_file["dob"]))
    assert set(compas) == {"data", "target", "group", "feature_names", "DESCR", "source", "licence"}


def test_dates_would_give_the_compas_label_away(compas_file):
    late = compas_file["compas_screening_date"] > "2014-04-01"
    assert late.any()
    assert compas_file.loc[late, "two_year_recid"].eq(1).all()


def test_no_single_column_decides_the_label(bank, compas):
    for bunch in (bank, compas):
        for name in set(bunch.feature_names) - {"duration"}:  # of Bank: known to give much away, see DESCR
            purity = pd.Series(bunch.target).groupby(bunch.data[name].to_numpy()).agg(["mean", "size"])
            decided = purity[(purity["mean"].isin([0.0, 1.0])) & (purity["size"] > 100)]
            assert decided["size"].sum() < 0.05 * len(bunch.target), name


@pytest.mark.parametrize("fixture", ["bank", "compas"])
def test_description_source_and_licence(fixture, request):
    bunch = request.getfixturevalue(fixture)
    assert bunch.source.startswith("https://")
    assert bunch.licence
    assert "Groups:" in bunch.DESCR
    assert bunch.target.dtype == np.int64
    assert not pd.DataFrame(bunch.data).isna().any().any()
