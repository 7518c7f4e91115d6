"""The paper's nine base classifiers as ready, seeded pipelines.

XGBoost comes as ``xgboost-cpu``: the same package without 130 MB of GPU code. Where that is not published (macOS, ARM)
it comes as ``xgboost``, which is imported by the same name.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import narwhals as nw
import numpy as np
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.fixes import parse_version

from fairpot._optional import import_optional

__all__ = ["MODEL_NAMES", "make_model"]

# Levels with fewer training rows than this share one column.
RARE_LEVEL = 20
_PICKS_FROM_ARROW = parse_version(sklearn.__version__) >= parse_version("1.7")


def make_model(
    name: str,
    *,
    random_state: int | None = None,
    n_jobs: int | None = None,
    defaults: Literal["ranking", "library"] = "ranking",
    **params: Any,
) -> Pipeline:
    """Return one of the paper's base classifiers as an unfitted pipeline: preprocessing, then the model.

    Text, categorical and boolean columns are one-hot encoded, levels with fewer than 20 training rows
    sharing one column that also takes levels never seen in training. Missing numbers get the median
    (XGBoost handles them itself). Numbers are standardised for logistic regression, SVM and kNN.

    The paper gives no hyper-parameters, so these are the libraries' defaults, with two exceptions that
    ``defaults="library"`` takes back: a full decision tree gives only the scores 0 and 1, so leaves hold at
    least 50 rows, and five neighbours give six distinct scores, so kNN asks 50 (and needs 50 training rows). The
    paper's table is nearer to the libraries' defaults.

    The SVM is a linear one on 100 Nystroem features of the RBF kernel, with Platt scaling for probabilities: the
    cost of an exact kernel SVM grows at least with the square of the rows, and Bank has 45,211. It needs 150
    training rows.

    Parameters
    ----------
    name : str
        One of `MODEL_NAMES`.
    random_state : int or None, default=None
        Seed, for every step that draws.
    n_jobs : int or None, default=None
        Threads, for the models that take them; None is 1.
    defaults : {"ranking", "library"}, default="ranking"
        Whether the decision tree and kNN are set to give many distinct scores, or left as scikit-learn has
        them.
    **params : object
        Parameters of the classifier, over all of the above.

    Returns
    -------
    Pipeline
        With the steps ``prepare`` and ``model``.

    Examples
    --------
    >>> from fairpot.datasets import make_synthetic
    >>> from fairpot_paper.models import make_model
    >>> drawn = make_synthetic(n=400, random_state=0)
    >>> model = make_model("logistic_regression", random_state=0).fit(drawn.data, drawn.target)
    >>> model.predict_proba(drawn.data)[:, 1].shape
    (400,)
    """
    if name not in _BUILDERS:
        raise ValueError(
            f"no base model is named {name!r}; the names are {list(MODEL_NAMES)}.\n"
            "Hint: any scikit-learn classifier can be used in its place."
        )
    if defaults not in ("ranking", "library"):
        raise ValueError(f"defaults must be 'ranking' or 'library'; got {defaults!r}.")
    model = _BUILDERS[name](random_state)
    if defaults == "ranking":
        model.set_params(**_FOR_RANKING.get(name, {}))
    if name in _THREADED:
        model.set_params(n_jobs=n_jobs or 1)
    model.set_params(**params)
    return Pipeline([("prepare", make_preparation(name)), ("model", model)])


def _svm(random_state: int | None) -> CalibratedClassifierCV:
    """Approximate the kernel SVM; Platt scaling keeps its order and gives probabilities."""
    margin = make_pipeline(
        Nystroem(n_components=100, random_state=random_state),
        LinearSVC(dual=False, random_state=random_state),
    )
    return CalibratedClassifierCV(margin, ensemble=False, cv=3)


def _xgboost(random_state: int | None) -> Any:
    """Import XGBoost only when it is asked for."""
    return import_optional("xgboost", package="xgboost-cpu").XGBClassifier(random_state=random_state)


_BUILDERS: Mapping[str, Callable[[int | None], Any]] = {
    "logistic_regression": lambda seed: LogisticRegression(max_iter=1000, random_state=seed),
    "random_forest": lambda seed: RandomForestClassifier(random_state=seed),
    "gradient_boosting": lambda seed: GradientBoostingClassifier(random_state=seed),
    "svm": _svm,
    "naive_bayes": lambda seed: GaussianNB(),
    "decision_tree": lambda seed: DecisionTreeClassifier(random_state=seed),
    "knn": lambda seed: KNeighborsClassifier(),
    "extra_trees": lambda seed: ExtraTreesClassifier(random_state=seed),
    "xgboost": _xgboost,
}
MODEL_NAMES: tuple[str, ...] = tuple(_BUILDERS)
_FOR_RANKING: Mapping[str, dict[str, Any]] = {
    "decision_tree": {"min_samples_leaf": 50},
    "knn": {"n_neighbors": 50},
}
_THREADED = frozenset({"random_forest", "knn", "extra_trees", "xgboost"})
_SCALED = frozenset({"logistic_regression", "svm", "knn"})


def make_preparation(name: str) -> ColumnTransformer:
    """Return the encoder of text columns and the treatment of numbers that a model needs, unfitted."""
    levels = OneHotEncoder(min_frequency=RARE_LEVEL, handle_unknown="infrequent_if_exist", sparse_output=False)
    scaler = StandardScaler(with_mean=name in _SCALED, with_std=name in _SCALED)
    if name == "xgboost":  # keeps missing numbers; the idle scaler turns any frame into an array of floats
        numbers: Any = scaler
    else:
        numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), scaler)
    return AnyFrameTransformer([("levels", levels, text_columns), ("numbers", numbers, number_columns)])


class AnyFrameTransformer(ColumnTransformer):  # type: ignore[misc]
    """A ``ColumnTransformer`` for PyArrow tables too, from which scikit-learn picks no columns before 1.7."""

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit and transform, as ``ColumnTransformer`` does."""
        return super().fit_transform(_with_columns(X), y, **params)

    def transform(self, X: Any, **params: Any) -> Any:
        """Transform, as ``ColumnTransformer`` does."""
        return super().transform(_with_columns(X), **params)


def _with_columns(X: Any) -> Any:
    """Return what scikit-learn can pick columns from: an array of objects for a table it cannot read."""
    if _PICKS_FROM_ARROW or not type(X).__module__.startswith("pyarrow"):
        return X
    rows = np.empty((X.num_rows, X.num_columns), dtype=object)
    for j, column in enumerate(X.columns):
        rows[:, j] = column.to_pylist()
    return rows


def text_columns(X: Any) -> list[Any]:
    """Return the columns of ``X`` that are not numbers: names for a frame, positions for an array."""
    return [column for column, is_number in _column_kinds(X) if not is_number]


def number_columns(X: Any) -> list[Any]:
    """Return the columns of ``X`` that are numbers: names for a frame, positions for an array."""
    return [column for column, is_number in _column_kinds(X) if is_number]


def _column_kinds(X: Any) -> list[tuple[Any, bool]]:
    """Return every column with whether it is one of numbers; booleans are levels."""
    if isinstance(X, np.ndarray):
        return [(j, _is_number_array(X[:, j])) for j in range(X.shape[1])]
    schema = nw.from_native(X, eager_only=True).schema
    return [(name, dtype.is_numeric()) for name, dtype in schema.items()]


def _is_number_array(values: Any) -> bool:
    """Tell whether an array's column is one of numbers, also inside an array of objects."""
    if values.dtype != object:
        return bool(values.dtype.kind in "iuf")
    known = [value for value in values if value is not None]
    return all(isinstance(value, int | float | np.number) and not isinstance(value, bool) for value in known)


def __dir__() -> list[str]:
    return sorted(__all__)
