import re
import subprocess
import sys

import numpy as np
import pytest
from scipy.special import expit

from fairpot.datasets import make_synthetic


def test_shape_names_and_halves():
    drawn = make_synthetic(random_state=0)
    assert drawn.data.shape == (3000, 5)
    assert list(drawn.data.columns) == drawn.feature_names == ["x1", "x2", "x3", "x4", "x5"]
    assert drawn.target.dtype == np.int64
    assert set(drawn.target.tolist()) == {0, 1}
    assert {g: int((drawn.group == g).sum()) for g in "ab"} == {"a": 1500, "b": 1500}


def test_odd_row_goes_to_a():
    drawn = make_synthetic(n=101, random_state=0)
    assert (drawn.group == "a").sum() == 51


@pytest.mark.parametrize("seed", range(5))
def test_probability_is_the_stated_model_with_the_wanted_rate(seed):
    drawn = make_synthetic(random_state=seed)
    x = drawn.data.to_numpy()
    for g, (name, rate) in enumerate({"a": 0.3, "b": 0.1}.items()):
        rows = drawn.group == name
        expected = expit(x[rows] @ drawn.coefficients[g] + drawn.intercepts[g])
        np.testing.assert_allclose(drawn.probability[rows], expected)
        assert drawn.probability[rows].mean() == pytest.approx(rate, abs=1e-9)
        assert drawn.target[rows].mean() == pytest.approx(rate, abs=0.05)


def test_seed_decides_everything():
    one, two, other = (make_synthetic(random_state=s) for s in (3, 3, 4))
    np.testing.assert_array_equal(one.data.to_numpy(), two.data.to_numpy())
    np.testing.assert_array_equal(one.target, two.target)
    np.testing.assert_array_equal(one.group, two.group)
    assert not np.allclose(one.coefficients, other.coefficients)
    np.testing.assert_array_equal(
        make_synthetic(random_state=np.random.default_rng(3)).data.to_numpy(), one.data.to_numpy()
    )


def test_array_instead_of_frame():
    array = make_synthetic(random_state=0, as_frame=False).data
    np.testing.assert_array_equal(array, make_synthetic(random_state=0).data.to_numpy())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 3}, "n must be at least 4"),
        ({"random_state": -1}, "random_state must be a whole number, at least 0"),
    ],
)
def test_impossible_arguments(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make_synthetic(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 10.5}, "n must be a whole number, at least 4, got 10.5."),
        ({"n": "a"}, "n must be a whole number, at least 4, got 'a'."),
        ({"n": True}, "n must be a whole number"),
        ({"random_state": "a"}, "random_state must be a whole number, at least 0, a NumPy Generator or None, got 'a'."),
    ],
)
def test_arguments_of_another_type(arguments, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        make_synthetic(**arguments)


def test_whole_numbers_of_numpy():
    drawn = make_synthetic(np.int32(10), random_state=np.random.default_rng(0))
    assert drawn.data.shape == (10, 5)


def test_import_is_light():
    heavy = ("pandas", "polars", "pyarrow", "pooch", "xgboost", "matplotlib")
    code = (  # scikit-learn itself loads pandas where it is installed
        "import sys, narwhals, sklearn.ensemble\n"
        "before = set(sys.modules)\n"
        "import fairpot.datasets\n"
        f"print([name for name in {heavy} if name in set(sys.modules) - before])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_any_frame_library():
    code = (
        "import sys\n"
        "for name in ('pandas', 'polars', 'pyarrow'): sys.modules[name] = None\n"
        "from fairpot.datasets import make_synthetic\n"
        "drawn = make_synthetic(random_state=0, as_frame=False)\n"
        "print(drawn.data.shape)\n"
        "try: make_synthetic(random_state=0)\n"
        "except ImportError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("(3000, 5)\n")
    assert "Hint:" in done.stdout
