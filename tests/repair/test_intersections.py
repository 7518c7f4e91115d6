"""Intersections are the same groups in any order of their columns; a loaded model has the dial it was saved at."""

import numpy as np
import pandas as pd
import pytest

import fairpot
from fairpot.exceptions import UnseenGroupError
from fairpot.repair.registry import method, names

pytestmark = pytest.mark.filterwarnings("ignore::fairpot.exceptions.SmallGroupWarning")
COLUMNS = ["ward", "insured", "band"]


def rows(seed: int = 3, size: int = 1600) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "ward": rng.choice(["east", "west"], size),
            "insured": rng.choice([0, 1], size),
            "band": rng.choice(["<40", "40+"], size),
            "ill": rng.integers(0, 2, size),
        }
    )
    lead = (frame["ward"] == "east") + 0.5 * frame["insured"] + 0.3 * (frame["band"] == "40+")
    return frame.assign(risk=1 / (1 + np.exp(-rng.normal(frame["ill"] + lead))))


@pytest.mark.parametrize("name", names())
def test_columns_go_by_name_in_any_order(name, tmp_path):
    frame, new = rows(), rows(4, 300)
    given = {method(name).dial.name: 1.0}
    repair = method(name)(**given).fit(frame["risk"], frame["ill"], sensitive_features=frame[COLUMNS])
    expected = repair.transform(new["risk"], sensitive_features=new[COLUMNS])
    repair.save(tmp_path / "map.json")
    for model in (repair, fairpot.load(tmp_path / "map.json")):
        for order in (["band", "ward", "insured"], COLUMNS[::-1]):
            pd.testing.assert_series_equal(model.transform(new["risk"], sensitive_features=new[order]), expected)
            by_name = {column: new[column] for column in order}
            pd.testing.assert_series_equal(model.transform(new["risk"], sensitive_features=by_name), expected)
        tuples = list(new[COLUMNS].itertuples(index=False, name=None))
        pd.testing.assert_series_equal(model.transform(new["risk"], sensitive_features=tuples), expected)
        one = getattr(model, "fair_maps_", model).row_scorer()
        for score, group, adjusted in zip(new["risk"][:50], tuples, expected):
            named = dict(zip(COLUMNS, group))
            backwards = dict(reversed(named.items()))
            assert one(score, group) == one(score, named) == one(score, backwards) == pytest.approx(adjusted, abs=1e-12)
        with pytest.raises(UnseenGroupError, match="not seen in fit"):
            one(0.5, {"ward": "east", "band": "<40"})
        with pytest.raises(UnseenGroupError):
            model.transform(new["risk"], sensitive_features=[each[::-1] for each in tuples])


def test_every_use_of_a_fitted_model_knows_the_groups(tmp_path):
    frame, new = rows(), rows(5)
    repair = fairpot.FairPOT(0.6).fit(frame["risk"], frame["ill"], sensitive_features=frame[COLUMNS])
    same, other = new[COLUMNS], new[["insured", "band", "ward"]]
    assert (
        repair.tradeoff(new["risk"], new["ill"], sensitive_features=other, lams=[0.2, 0.6]).gap.tolist()
        == repair.tradeoff(new["risk"], new["ill"], sensitive_features=same, lams=[0.2, 0.6]).gap.tolist()
    )
    new.to_csv(tmp_path / "new.csv", index=False)
    for name, order in (("a", COLUMNS), ("b", list(other))):
        fairpot.apply(repair, tmp_path / "new.csv", tmp_path / f"{name}.csv", score="risk", group=order, column="to")
    written = [pd.read_csv(tmp_path / f"{name}.csv")["to"] for name in "ab"]
    pd.testing.assert_series_equal(*written)
    np.testing.assert_allclose(written[0], repair.transform(new["risk"], sensitive_features=same), atol=1e-12)


def test_values_without_names_keep_their_order():
    """A couple of a man and a woman is not one of a woman and a man, where nothing says which column is which."""
    rng = np.random.default_rng(8)
    pairs = rng.choice(["F", "M"], (800, 2))
    y, score = rng.integers(0, 2, 800), rng.normal(size=800) + (pairs[:, 0] == "F")
    repair = fairpot.FairPOT(1.0).fit(score, y, sensitive_features=pairs)
    swapped = repair.transform(score, sensitive_features=pairs[:, ::-1])
    assert not np.array_equal(swapped, repair.transform(score, sensitive_features=pairs))
    named = pd.DataFrame(pairs, columns=["one", "other"])  # names that fit did not have: by position
    np.testing.assert_array_equal(
        repair.transform(score, sensitive_features=named), repair.transform(score, sensitive_features=pairs)
    )


@pytest.mark.parametrize("name", names())
def test_a_loaded_model_has_its_dial(name, tmp_path):
    frame, kind = rows(size=700), method(name)
    repair = kind().fit(frame["risk"], frame["ill"], sensitive_features=frame["ward"])
    repair.save(tmp_path / "map.json")
    loaded, name = fairpot.load(tmp_path / "map.json"), kind.dial.name
    value = getattr(repair, f"{name}_")
    assert getattr(loaded, f"{name}_") == value
    for refused in (lambda: loaded.at(0.123), lambda: loaded.tradeoff(lams=[0.1])):
        with pytest.raises(AttributeError, match=rf"keeps the maps at {name} = (.|\n)*Hint: fit {kind.__name__}"):
            refused()
