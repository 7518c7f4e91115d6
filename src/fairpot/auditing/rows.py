"""From the arguments of an audit to the table it counts."""

from __future__ import annotations

from typing import Any

from fairpot.inference import Sample, sample_rows
from fairpot.metrics.tables import labelled_table
from fairpot.table import ScoreTable


def table_of(y_true: Any, y_score: Any, sensitive_features: Any, sample_weight: Any, pos_label: Any) -> ScoreTable:
    """Count rows, unless they come counted; a table alone is everything."""
    if not isinstance(y_true, ScoreTable):
        if y_true is None:
            raise TypeError("y_true is missing: an audit counts outcomes.")
        return labelled_table(y_true, y_score, sensitive_features, sample_weight, pos_label=pos_label)
    given = {"y_score": y_score, "sensitive_features": sensitive_features, "sample_weight": sample_weight}
    extra = [name for name, value in given.items() if value is not None]
    if extra:
        raise TypeError(f"a ScoreTable holds scores, outcomes, groups and weights: {extra[0]} cannot be given besides.")
    return y_true


def sample_of(
    y_true: Any,
    y_score: Any,
    sensitive_features: Any,
    sample_weight: Any,
    pos_label: Any,
    clusters: Any,
    weights: str,
) -> Sample:
    """Count rows with what intervals need beside the table: clusters, and what weights mean."""
    if isinstance(y_true, Sample):
        return y_true
    if clusters is None and (weights == "frequency" or isinstance(y_true, ScoreTable)):
        return Sample.of(table_of(y_true, y_score, sensitive_features, sample_weight, pos_label))
    if isinstance(y_true, ScoreTable):
        raise TypeError("a ScoreTable does not know its rows: clusters need the rows themselves.")
    if sensitive_features is None:
        raise TypeError("sensitive_features is missing: an audit compares groups.")
    return sample_rows(
        y_true,
        y_score,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        clusters=clusters,
        weights=weights,
        pos_label=pos_label,
    )
