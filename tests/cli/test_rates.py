"""Who is flagged at a threshold."""

import pytest

from cli.conftest import COLUMNS
from fairpot import FairPOT


def test_rates_are_those_of_pandas(run, csv, people):
    found = run("audit", csv, *COLUMNS, "--threshold", 0.4, "--json").json["rates"][0]
    for each in found["groups"]:
        own = people[people["sex"] == each["group"]]
        flagged = own["risk"] >= 0.4
        assert each["flagged"] == flagged.sum()
        assert each["tpr"] == pytest.approx(flagged[own["outcome"] == 1].mean())
        assert each["fpr"] == pytest.approx(flagged[own["outcome"] == 0].mean())
        assert each["ppv"] == pytest.approx(own.loc[flagged, "outcome"].mean())


def test_rates_before_and_after(run, csv, people):
    found = run("fit", csv, *COLUMNS, "--lam", 0.6, "--threshold", 0.4, "--json").json["fitted"]
    fp = FairPOT(0.6).fit(people["risk"], people["outcome"], sensitive_features=people["sex"])
    new = fp.transform(people["risk"], sensitive_features=people["sex"])
    for which, scores in (("before", people["risk"]), ("after", new)):
        flagged = {each["group"]: each["flagged"] for each in found[which]["rates"][0]["groups"]}
        assert flagged == {g: int((scores[people["sex"] == g] >= 0.4).sum()) for g in ("F", "M")}


def test_a_threshold_is_turned_round_with_the_scores(run, people, tmp_path):
    people.assign(risk=1 - people["risk"]).to_csv(tmp_path / "low.csv", index=False)
    turned = ["--lower-is-riskier", "--threshold", 0.6, "--json"]
    found = run("audit", tmp_path / "low.csv", *COLUMNS, *turned).json["rates"][0]
    assert found["all"]["flagged"] == (1 - people["risk"] <= 0.6).sum()
