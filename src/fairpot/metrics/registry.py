"""All metrics by name, so that tests and reports can run over them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from fairpot.metrics.rank import (
    auc,
    group_auc,
    partial_auc,
    partial_xauc,
    partial_xauc_gap,
    tied_share,
    xauc,
    xauc_gap,
)
from fairpot.metrics.top_share import top_precision, top_recall


@dataclass(frozen=True)
class Metric:
    """A metric and what it needs beside ``y_true, y_score``.

    ``needs`` names keyword arguments: ``sensitive_features``, ``alpha``, a pair of groups (``positive``,
    ``negative``) or one ``group``.

    Examples
    --------
    >>> from fairpot.metrics import METRICS
    >>> METRICS["xauc_gap"].needs, METRICS["xauc_gap"].higher_is_better
    (('sensitive_features',), False)
    >>> y, score, sex = [1, 0, 1, 0], [0.4, 0.1, 0.9, 0.6], ["F", "F", "M", "M"]
    >>> METRICS["xauc_gap"].function(y, score, sensitive_features=sex)
    1.0
    """

    function: Callable[..., float]
    needs: tuple[str, ...] = field(default=())
    has_ties: bool = True
    higher_is_better: bool | None = True


METRICS: dict[str, Metric] = {
    "auc": Metric(auc),
    "xauc": Metric(xauc, ("sensitive_features", "positive", "negative")),
    "xauc_gap": Metric(xauc_gap, ("sensitive_features",), higher_is_better=False),
    "partial_auc": Metric(partial_auc, ("alpha",)),
    "partial_xauc": Metric(partial_xauc, ("sensitive_features", "alpha", "positive", "negative")),
    "partial_xauc_gap": Metric(partial_xauc_gap, ("sensitive_features", "alpha"), higher_is_better=False),
    "top_recall": Metric(top_recall, ("alpha",), has_ties=False),
    "top_precision": Metric(top_precision, ("alpha",), has_ties=False),
    "group_auc": Metric(group_auc, ("sensitive_features", "group")),
    "tied_share": Metric(tied_share, has_ties=False, higher_is_better=None),
}
