"""``fairpot datasets``: real and generated data to try every command on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import narwhals as nw
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import Bunch

from fairpot import datasets as library
from fairpot._optional import import_optional
from fairpot.cli._errors import Failure
from fairpot.cli._options import output_options
from fairpot.cli._printing import Output, count, shown
from fairpot.models import MODEL_NAMES, make_model
from fairpot.rows.formats import open_sink
from fairpot.rows.formats.layout import Batches, format_of_output
from fairpot.rows.output import complete_file

_OWN = ("score", "label", "group")


def _generated(make: Callable[..., Bunch], rows: int | None, seed: int, home: str | None) -> Bunch:
    return make(random_state=seed) if rows is None else make(rows, random_state=seed)


def _fetched(fetch: Callable[..., Bunch], rows: int | None, seed: int, home: str | None) -> Bunch:
    if rows is not None:
        raise Failure("--rows is for generated data; this dataset has the rows it has.")
    return fetch(data_home=home)


_SETS: dict[str, tuple[Callable[..., Bunch], Callable[..., Bunch], str, bool]] = {
    "synthetic": (_generated, library.make_synthetic, "two Gaussian groups a and b, drawn as in the paper", False),
    "clinical": (_generated, library.make_clinical, "a simulated clinical cohort, by sex", False),
    "bank": (_fetched, library.fetch_bank, "Bank Marketing: 45,211 clients, by age", True),
    "compas": (_fetched, library.fetch_compas, "COMPAS: 7,214 people, by sex", True),
}


@click.group(short_help="Data to try every command on.", invoke_without_command=True)
@click.pass_context
def datasets(ctx: click.Context) -> None:
    """List datasets, fetch them, or write one to a file with a model's scores.

    \b
    Example:
      fairpot datasets list
      fairpot datasets write synthetic scores.csv --model logistic_regression
      fairpot audit scores.csv
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@datasets.command("list", short_help="List the datasets and the models.")
@output_options
def list_(out: Output) -> None:
    """List the datasets and the models that can score them.

    \b
    Example:
      fairpot datasets list --json
    """
    found = [{"name": n, "what": what, "fetched": fetched} for n, (_, _, what, fetched) in _SETS.items()]
    out.document({"datasets": found, "models": list(MODEL_NAMES)})
    rows = [[name, _SOURCE[fetched], what] for name, (_, _, what, fetched) in _SETS.items()]
    out.table(["name", "source", "what"], rows, texts=3)
    out.line()
    out.line("models: " + ", ".join(MODEL_NAMES))


_SOURCE = {True: "fetched", False: "generated"}


@datasets.command(short_help="Fetch a dataset, verified.")
@click.argument("name", type=click.Choice([n for n, (*_, fetched) in _SETS.items() if fetched]))
@click.option("--home", metavar="FOLDER", help="Where files are looked for and stored; default: FAIRPOT_DATA, a cache.")
@output_options
def fetch(name: str, home: str | None, out: Output) -> None:
    """Fetch a published dataset, and verify that it is the published one.

    \b
    Example:
      fairpot datasets fetch compas --home data/
    """
    _, make, _, _ = _SETS[name]
    data = make(data_home=home)
    rows, features = len(data.target), len(data.feature_names)
    out.document({"name": name, "rows": rows, "features": features, "source": data.source, "licence": data.licence})
    out.line(f"{name}: {count(rows)} rows, {features} features, verified")
    out.line(f"source: {data.source}, licence: {data.licence}")


@datasets.command(short_help="Write one to a file, with a model's scores.")
@click.argument("name", type=click.Choice(list(_SETS)))
@click.argument("output", metavar="FILE")
@click.option("--model", type=click.Choice(MODEL_NAMES), default="logistic_regression", show_default=True)
@click.option("--rows", type=click.IntRange(20), metavar="N", help="How many rows, of generated data.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=4,
    show_default=True,
    metavar="N",
    help="Seed of all that is drawn.",
)
@click.option("--home", metavar="FOLDER", help="Where fetched files are looked for and stored.")
@click.option("--force", is_flag=True, help="Replace the file if it is there.")
@output_options
def write(
    name: str, output: str, model: str, rows: int | None, seed: int, home: str | None, force: bool, out: Output
) -> None:
    """Write a dataset to a file with the columns score, label, group and its features.

    Scores are out of fold: no row is scored by a model that was trained on it. The name says the format.

    \b
    Examples:
      fairpot datasets write synthetic scores.csv --model logistic_regression
      fairpot datasets write clinical visits.parquet --rows 20000 --seed 1
    """
    format_of_output(Path(output))
    with complete_file(output, overwrite=force) as place:
        how, make, _, _ = _SETS[name]
        with out.progress(f"scoring {name}", known=False):
            table = scored_table(how(make, rows, seed, home), model, seed)
        write_table(table, place, Path(output))
    out.document(
        {"name": name, "model": model, "output": output, "rows": table.num_rows, "columns": table.column_names}
    )
    out.line(f"Written: {shown(output)}, {count(table.num_rows)} rows scored by {model}")
    out.line(f"Next: fairpot audit {shown(output)}")


def scored_table(data: Bunch, model: str, seed: int) -> Any:
    """Score a dataset out of fold; return an Arrow table."""
    pa = import_optional("pyarrow", "cli")
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    pipeline = make_model(model, random_state=seed)
    scores = cross_val_predict(pipeline, data.data, data.target, cv=folds, method="predict_proba")[:, 1]
    own = {
        "score": pa.array(scores.astype(np.float64)),
        "label": pa.array(data.target),
        "group": pa.array(np.asarray(data.group).tolist()),
    }
    features = nw.from_native(data.data, eager_only=True).to_arrow()
    for column in features.column_names:
        if column not in _OWN:
            own[column] = features[column]
    return pa.table(own)


def write_table(table: Any, place: Path, target: Path) -> None:
    """Write an Arrow table in the format that the target's name says."""
    batches = Batches(table.schema, lambda: iter(table.to_batches(1 << 16)))
    sink = open_sink(place, target, format_of_output(target), batches, None)
    try:
        for batch in batches:
            sink.write(batch, None)
    finally:
        sink.close()
