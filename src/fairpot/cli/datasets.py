"""``fairpot datasets``: real and generated data to try every command on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import narwhals as nw
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import Bunch

from fairpot import datasets as library
from fairpot._optional import import_optional
from fairpot.cli._errors import Failure
from fairpot.cli._options import SEED, force_option, option, output_options
from fairpot.cli._printing import Output, count, shown
from fairpot.rows.formats import Batches, Target, format_of_output, open_sink
from fairpot.rows.output import check_output, complete_file

_OWN = ("score", "label", "group")
_MODEL = "logistic_regression"
# Categories with fewer rows than this share one column of the model.
_RARE = 20


_SETS: dict[str, Callable[..., Bunch]] = {
    "synthetic": library.make_synthetic,
    "bank": library.fetch_bank,
    "compas": library.fetch_compas,
}


@dataclass(frozen=True)
class WrittenDocument:
    """A dataset that was written to a file."""

    name: str
    model: str
    output: str
    rows: int
    columns: tuple[str, ...]


@click.group(short_help="Data to try every command on.", invoke_without_command=True)
@click.pass_context
def datasets(ctx: click.Context) -> None:
    """Write a dataset to a file with a model's scores.

    \b
    Datasets:
      synthetic   two Gaussian groups a and b, drawn as in the paper
      bank        Bank Marketing: 45,211 clients, by age; fetched
      compas      COMPAS: 7,214 people, by sex; fetched

    \b
    Example:
      fairpot datasets write synthetic scores.csv
      fairpot audit scores.csv
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@datasets.command(short_help="Write one to a file, with a model's scores.")
@click.argument("name", type=click.Choice(list(_SETS)))
@click.argument("output", metavar="FILE")
@option("--rows N", "How many rows, of generated data.", type=click.IntRange(20))
@option("--seed N", "Seed of all that is drawn.", type=SEED, default=4)
@force_option
@output_options
def write(name: str, output: str, rows: int | None, seed: int, force: bool, out: Output) -> None:
    """Write a dataset to a file with the columns score, label, group and its features.

    The scores are those of a logistic regression, out of fold: no row is scored by a model that was trained on it. The
    name says the format. Published data are looked for in FAIRPOT_DATA and a cache, else fetched, and verified.

    \b
    Examples:
      fairpot datasets write synthetic scores.csv
      fairpot datasets write synthetic scores.parquet --rows 20000 --seed 1
    """
    format_of_output(Path(output))
    make, fetched = _SETS[name], name != "synthetic"
    if fetched and rows is not None:
        raise Failure("--rows is for generated data; this dataset has the rows it has.")
    check_output(output, overwrite=force)  # before any work
    with out.progress(f"scoring {name}", known=False):
        drawn = [] if rows is None else [rows]
        data = make() if fetched else make(*drawn, random_state=seed)
        table = _scored(data, seed)
    with complete_file(output, overwrite=force) as place:
        _write(table, place, Path(output))
    out.document(WrittenDocument(name, _MODEL, output, table.num_rows, tuple(table.column_names)))
    out.line(f"Written: {shown(output)}, {count(table.num_rows)} rows scored by {_MODEL}")
    out.command(["fairpot", "audit", output])


def _scored(data: Bunch, seed: int) -> Any:
    """Score a dataset out of fold by a logistic regression; return an Arrow table."""
    pa = import_optional("pyarrow", "cli")
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    features = nw.from_native(data.data, eager_only=True).to_arrow()
    values = np.array([column.to_pylist() for column in features.columns], dtype=object).T
    texts = np.array([pa.types.is_string(kind) or pa.types.is_large_string(kind) for kind in features.schema.types])
    levels = OneHotEncoder(min_frequency=_RARE, handle_unknown="infrequent_if_exist", sparse_output=False)
    parts = [("levels", levels, np.flatnonzero(texts)), ("numbers", StandardScaler(), np.flatnonzero(~texts))]
    model = make_pipeline(ColumnTransformer(parts), LogisticRegression(max_iter=1000))
    scores = cross_val_predict(model, values, data.target, cv=folds, method="predict_proba")[:, 1]
    own = {
        "score": pa.array(scores.astype(np.float64)),
        "label": pa.array(data.target),
        "group": pa.array(np.asarray(data.group).tolist()),
    }
    own |= {name: features[name] for name in features.column_names if name not in _OWN}
    return pa.table(own)


def _write(table: Any, place: Path, target: Path) -> None:
    batches = Batches(table.schema, lambda: iter(table.to_batches(1 << 16)))
    sink = open_sink(batches, Target(place, target, format_of_output(target)))
    try:
        for batch in batches:
            sink.write(batch, None)
    finally:
        sink.close()
