"""``fairpot show``: what a map is, for whom, and what it was fitted on; and which map an export is of."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click
import numpy as np

from fairpot import words
from fairpot._lineage import Lineage, lineage_of
from fairpot.cli._errors import ABOVE_LIMIT, Failure
from fairpot.cli._options import Sectioned, only_this_map, option, output_options
from fairpot.cli._printing import Dial, Output, Value, count, shown
from fairpot.modelfile.files import MAX_BYTES, bytes_of, check_digest, naming
from fairpot.repair.fair_maps import FairMaps, load
from fairpot.repair.finish import in_words
from fairpot.results.kinds import Group
from fairpot.rows.formats import format_of_name, unreadable
from fairpot.transport import FollowedMap, ScoreMap, parted


@dataclass(frozen=True)
class Breakpoints:
    """A map by its breakpoints."""

    knots: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True)
class MapSaid:
    """The map of one group."""

    group: Group
    knots: int
    identity: bool
    monotone: bool
    range: tuple[float, float] | None
    values: tuple[float, float] | None


@dataclass(frozen=True)
class ShowDocument:
    """What a map file holds."""

    method: str
    parameters: Mapping[str, Any]
    dial: Dial
    reference: Group | None
    thresholds: tuple[Value, ...] | None
    columns: Mapping[str, Any] | None
    fitted_on: Mapping[str, Any]
    certificate: Mapping[str, Any] | None
    private: Mapping[str, Any] | None
    simplified: Mapping[str, Any] | None
    then: Breakpoints | None
    maps: tuple[MapSaid, ...]
    sha256: str
    belongs: bool | None


@dataclass(frozen=True)
class ShownExport:
    """What an export, adjusted rows or a report says of itself, and whether it was made from a map."""

    file: str
    export: Lineage
    belongs: bool | None


@click.command(cls=Sectioned, short_help="Show what a map does and where it comes from.")
@click.argument("file", metavar="FILE")
@option("--map MAP", "Say whether FILE is of this map; exit with 3 if it is not.", "other")
@only_this_map
@output_options
def show(file: str, other: str | None, expect_sha256: str | None, out: Output) -> None:
    """Show a map: its method, the groups it is for, what it was fitted on, and how scores move.

    \b
    Example:
      fairpot show map.json
      fairpot show adjusted.parquet --map map.json

    Of an export, of adjusted rows (Parquet, Arrow, or what `apply --json` prints) and of a report it shows which
    fairpot wrote it, the SHA-256 of its map file and of the input, and the run. A map is checked first: one that is
    damaged, changed or of another version is refused, with the reason.
    """
    with naming(file):
        made = _lineage(file)
        if made is not None and expect_sha256 is not None:
            check_digest(made.map_sha256 or "", expect_sha256)
    found: Lineage | FairMaps = load(file, expect_sha256=expect_sha256) if made is None else made
    digest = found.map_sha256 if isinstance(found, Lineage) else found.sha256_
    belongs = None if other is None else load(other).sha256_ == digest
    if isinstance(found, Lineage):
        out.document(ShownExport(file, found, belongs))
        whose = "without a map" if digest is None else f"from the map file with SHA-256 {digest}"
        out.line(f"Written by fairpot {found.fairpot} {whose}")
        out.lines([f"SHA-256 of the input: {each}" for each in found.input_sha256])
        if found.run is not None:
            out.line(f"run {found.run}: its other output says the same")
    else:
        out.document(_document(found, belongs))
        _print_map(out, found)
    if belongs is not None:
        said = f"is of {shown(other)}" if belongs else f"is not of {shown(other)}, which has another SHA-256"
        out.line(f"{shown(file)} {said}", "good" if belongs else "bad")
    if belongs is False:
        raise click.exceptions.Exit(ABOVE_LIMIT)


def _lineage(file: str) -> Lineage | None:
    """Read what a file says of itself; None of a map."""
    head = b""  # of a pipe, or of what cannot be read, which is said in the words of map files
    if Path(file).is_file() and os.access(file, os.R_OK):
        with open(file, "rb") as stream:
            head = stream.read(8)
    if head[:4] == b"PAR1" or head[:6] == b"ARROW1":
        what = "parquet" if head[:4] == b"PAR1" else "arrow"
        try:
            line = import_module(f"fairpot.rows.formats.{what}").line_of(Path(file))
        except (ValueError, OSError, NotImplementedError) as error:  # Arrow's own are among them
            raise unreadable(file, what, error) from error
        return lineage_of(line) or _says_nothing(file)
    if head[:4] == b"PK\x03\x04" or format_of_name(Path(file)) in ("csv", "tsv", "jsonl"):
        return _says_nothing(file)
    return lineage_of(bytes_of(file, MAX_BYTES))


def _says_nothing(file: str) -> NoReturn:
    raise Failure(
        f"{shown(file)} does not say which map it is of: CSV and JSON lines cannot, and other rows do where "
        "`fairpot apply` wrote them.\nHint: keep what `fairpot apply --json` prints, and show that; it has the SHA-256 "
        "of the rows."
    )


def _print_map(out: Output, model: Any) -> None:
    columns = [] if model.columns_ is None else model.columns_["group"]
    names = {group: shown(words.name_of(group, columns)) for group in model.groups_}
    moves = {group: _moves(model, model.maps_[group]) for group in model.groups_}
    out.line(_what_it_does(names, moves), "bold")
    out.line(f"{model.method_}, {Dial.of(*model.dial_).text(columns)}")
    _print_origin(out, model)
    out.line(f"SHA-256 of the file: {model.sha256_}")
    given = {name: value for name, value in model.params_.items() if value is not None and value is not False}
    out.line("parameters: " + ", ".join(f"{name}={shown(repr(value))}" for name, value in given.items()))
    if model.columns_ is not None:
        direction = ", low score = high risk" if model.lower_is_riskier_ else ""
        if model.high_score_means_ is not None:
            direction += f", a high score {model.high_score_means_}s the person"
        out.line(shown(f"columns: score {model.columns_['score']!r}, group {', '.join(map(repr, columns))}{direction}"))
    if model.grouping_ is not None and model.grouping_.bands:
        out.line(shown(model.grouping_.told))
    if parted(model.maps_)[1] is not None:
        what = "no outcome" if model.lower_is_riskier_ else "the outcome"
        out.line(f"then one map, common to all groups, makes probabilities of {what}: no rank changes")
    heads = ["group", "map", "moves", "rows", "with outcome", "without", "breakpoints"]
    rows = []
    for each in model.fitted_on_["groups"]:
        found = _own_map(model.maps_[each["group"]])
        kind = "keeps the order" if found.is_monotone else "may change the order"
        said = found.in_words() or ", ".join(f"{way} by up to {by:.3g}" for _, _, way, by in moves[each["group"]])
        kind, said = ("does not change", "-") if found.is_identity else (kind, said or "-")
        sizes = [count(each["counts"][name]) for name in ("rows", "positives", "negatives")]
        rows.append([names[each["group"]], kind, said, *sizes, count(len(found.knots))])
    out.table("Groups of the fitted rows", heads, rows, texts=3)


def _print_origin(out: Output, model: Any) -> None:
    origin = model.fitted_on_
    low, high = origin["score_range"]
    low, high = (0.0 - high, 0.0 - low) if model.lower_is_riskier_ else (low, high)  # as the user's file had them
    few = f", groups of fewer than {origin['fewer_than']:g} left out," if origin["rows"] is None else ""
    rows = sum(each["counts"]["rows"] or 0 for each in origin["groups"])
    out.line(
        f"fitted on {count(rows)} rows{few} with scores from {low:g} to {high:g}, by fairpot "
        f"{shown(origin['library_version'])}" + (f", {origin['time']}" if origin["time"] else "")
    )
    known = model.certified_
    if known is not None:
        out.line(shown(words.certificate({**known, "time": origin["time"]}, turned=model.lower_is_riskier_)))
        out.line("`fairpot report ROWS --map MAP -o FILE` says whether it holds on other rows.")
    if model.simplified_ is not None:
        out.line(in_words(model.simplified_))
    if model.private_ is not None:
        out.line(f"private: counts rounded, maps simplified; scores within {model.private_['largest_error']:.3g}")


def _own_map(found: ScoreMap) -> ScoreMap:
    """Give a group's own map, without the one that is common to all."""
    return found.first if isinstance(found, FollowedMap) else found


def _what_it_does(names: dict[Any, str], moves: dict[Any, list[Any]]) -> str:
    """Say whose scores the map changes, which way, and from which score to which."""
    said = [f"{does} scores of {names[group]}{where}" for group, each in moves.items() for does, where, _, _ in each]
    kept = [names[group] for group, each in moves.items() if not each]
    if not said:
        return "This map changes no score."
    return f"This map {words.listed(said, 4)}" + (f"; scores of {words.listed(kept)} do not change." if kept else ".")


def _moves(model: FairMaps, followed: ScoreMap) -> list[tuple[str, str, str, float]]:
    """Say which ways scores move, where and how far at most, on the scale of the user's file."""
    found = _own_map(followed)
    if found.is_identity:
        return []
    low, high = model.fitted_on_["score_range"]  # of all groups; beyond its own scores a map has learnt nothing
    high = min(high, float(found.knots[-1])) if len(found.knots) else high
    at = np.union1d(found.knots, np.linspace(low, high, 101))
    at = at[(at >= low) & (at <= high)]
    shift = found(at) - at
    shift[np.abs(shift) < 1e-12 * max(abs(low), abs(high))] = 0.0  # round-off
    at, shift = (0.0 - at, 0.0 - shift) if model.lower_is_riskier_ else (at, shift)
    known = []
    for does, way, by in (("raises", "up", shift), ("lowers", "down", -shift)):
        moved = at[by > 0]
        if len(moved):
            whole = moved.min() <= at.min() and moved.max() >= at.max()
            where = "" if whole else f" between {moved.min():.3g} and {moved.max():.3g}"
            known.append((does, where, way, float(by.max())))
    return known


def _document(model: FairMaps, belongs: bool | None) -> ShowDocument:
    own, then = parted(model.maps_)
    return ShowDocument(
        model.method_,
        {name: repr(v) if isinstance(v, dict) else v for name, v in model.params_.items()},
        Dial.of(*model.dial_),
        model.reference_,
        None if model.thresholds_ is None else Value.each(model.thresholds_),
        model.columns_,
        model.fitted_on_,
        model.certified_,
        model.private_,
        model.simplified_,
        None if then is None else Breakpoints(tuple(then.knots.tolist()), tuple(then.values.tolist())),
        tuple(_map_document(group, own[group]) for group in model.groups_),
        model.sha256_,
        belongs,
    )


def _map_document(group: Any, found: ScoreMap) -> MapSaid:
    knots, values = found.knots, found.values
    ends = ((float(knots[0]), float(knots[-1])), (float(values.min()), float(values.max()))) if len(knots) else None
    return MapSaid(group, len(knots), found.is_identity, found.is_monotone, *(ends or (None, None)))
