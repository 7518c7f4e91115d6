"""``fairpot show``: what a map is, for whom, and what it was fitted on; and which map an export is of."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from fairpot.auditing.words import listed, name_of
from fairpot.cli._errors import ABOVE_LIMIT
from fairpot.cli._lines import certified_words, turned_range
from fairpot.cli._options import MapFile, Sectioned, only_this_map, output_options
from fairpot.cli._printing import Marks, Output, count, picture, shown
from fairpot.export.lineage import Lineage, lineage_of
from fairpot.modelfile.text import MAX_BYTES, bytes_of, check_digest, naming
from fairpot.repair.fair_maps import FairMaps
from fairpot.repair.finish import in_words
from fairpot.transport import FollowedMap, ScoreMap, ShiftMap, parted

_MARKS = "o*+x#%@&"


@click.command(cls=Sectioned, short_help="Show what a map does and where it comes from.")
@click.argument("file", metavar="FILE")
@click.option("--map", "other", metavar="MAP", help="Say whether FILE is of this map; exit with 3 if it is not.")
@only_this_map
@output_options
def show(file: str, other: str | None, expect_sha256: str | None, out: Output) -> None:
    """Show a map: its method, the groups it is for, what it was fitted on, and how scores move.

    \b
    Example:
      fairpot show map.json
      fairpot show map.sql --map map.json

    Of an export (SQL, ONNX, Python, JavaScript) it shows which fairpot wrote it, and the SHA-256 of its map file. A map
    is checked first: one that is damaged, changed or of another version is refused, with the reason.
    """
    with naming(file):
        made = lineage_of(bytes_of(file, MAX_BYTES))
        if made is not None and expect_sha256 is not None:
            check_digest(made.map_sha256, expect_sha256)
    found: Lineage | FairMaps = MapFile(file, expect_sha256).load() if made is None else made
    digest = found.map_sha256 if isinstance(found, Lineage) else found.sha256_
    belongs = None if other is None else MapFile(other).load().sha256_ == digest
    if isinstance(found, Lineage):
        out.document({"file": file, "export": found._asdict(), "belongs": belongs})
        out.line(f"An export, written by fairpot {found.fairpot} from the map file with SHA-256 {digest}")
    else:
        out.document(_document(found) | {"sha256": digest, "belongs": belongs})
        _print_map(out, found, digest)
    if belongs is not None:
        said = f"is of {shown(other)}" if belongs else f"is not of {shown(other)}, which has another SHA-256"
        out.line(f"{shown(file)} {said}", "green" if belongs else "red")
    if belongs is False:
        raise click.exceptions.Exit(ABOVE_LIMIT)


def _print_map(out: Output, model: Any, digest: str) -> None:
    dial, value = model.dial_
    each = value.items() if isinstance(value, dict) else []
    chosen = f"{value:.3g}" if not each else ", ".join(f"{v:.3g} ({_name(model, g)})" for g, v in each)
    out.line(_what_it_does(model), "bold")
    out.line(f"{model.method_}, {dial} = {chosen}")
    _print_origin(out, model)
    out.line(f"SHA-256 of the file: {digest}")
    given = {name: value for name, value in model.params_.items() if value is not None and value is not False}
    out.line("parameters: " + ", ".join(f"{name}={shown(repr(value))}" for name, value in given.items()))
    if model.columns_ is not None:
        groups = ", ".join(map(repr, model.columns_["group"]))
        direction = ", low score = high risk" if model.lower_is_riskier_ else ""
        if model.high_score_means_ is not None:
            direction += f", a high score {model.high_score_means_}s the person"
        out.line(shown(f"columns: score {model.columns_['score']!r}, group {groups}{direction}"))
    if parted(model.maps_)[1] is not None:
        what = "no outcome" if model.lower_is_riskier_ else "the outcome"
        out.line(f"then one map, common to all groups, makes probabilities of {what}: no rank changes")
    out.heading("Groups")
    out.table(["group", "rows", "with outcome", "without", "map", "breakpoints", "moves"], _groups(model))
    _print_picture(out, model)


def _print_origin(out: Output, model: Any) -> None:
    origin = model.fitted_on_
    low, high = _own_range(model)
    few = f", groups of fewer than {origin['fewer_than']:g} left out," if origin["rows"] is None else ""
    rows = sum(each["counts"]["rows"] or 0 for each in origin["groups"])
    out.line(
        f"fitted on {count(rows)} rows{few} with scores from {low:g} to {high:g}, by fairpot "
        f"{shown(origin['library_version'])}" + (f", {origin['time']}" if origin["time"] else "")
    )
    known = model.certified_
    if known is not None:
        out.line(f"certified then: {certified_words(known, model.lower_is_riskier_)}")
        out.line("whether it holds on other rows, `fairpot report ROWS --map MAP -o FILE` says")
    if model.simplified_ is not None:
        out.line(in_words(model.simplified_))
    if model.private_ is not None:
        out.line(f"private: counts rounded, maps simplified; scores within {model.private_['largest_error']:.3g}")


def _groups(model: FairMaps) -> list[list[str]]:
    counts = {each["group"]: each["counts"] for each in model.fitted_on_["groups"]}
    return [_group(model, group, counts[group]) for group in model.groups_]


def _group(model: FairMaps, group: Any, counts: dict[str, Any]) -> list[str]:
    found = model.maps_[group]
    found = found.first if isinstance(found, FollowedMap) else found
    kind = "does not change" if found.is_identity else "never overtakes" if found.is_monotone else "may overtake"
    sizes = [count(counts[name]) for name in ("rows", "positives", "negatives")]
    return [_name(model, group), *sizes, kind, count(len(found.knots)), _largest_shift(model, found)]


def _name(model: FairMaps, group: Any) -> str:
    return shown(name_of(group, [] if model.columns_ is None else model.columns_["group"]))


def _what_it_does(model: FairMaps) -> str:
    """Say whose scores the map changes, and which way."""
    ways: dict[str, list[str]] = {}
    for group in model.groups_:
        ways.setdefault(_way(model, model.maps_[group]), []).append(_name(model, group))
    said = [f"{way} scores of {listed(ways[way])}" for way in ("raises", "lowers", "raises and lowers") if way in ways]
    kept = [f"scores of {listed(ways[''])} do not change"] if "" in ways else []
    return "; ".join(
        ["This map " + " and ".join(said) if said else "This map changes no score", *(kept if said else [])]
    )


def _way(model: FairMaps, found: ScoreMap) -> str:
    """Say which way scores move, on the scale of the user's file; empty if they do not."""
    found = found.first if isinstance(found, FollowedMap) else found
    if found.is_identity:
        return ""
    up, down = _shifts(model, found)
    return " and ".join([*(["raises"] if up > 0 else []), *(["lowers"] if down > 0 else [])])


def _shifts(model: FairMaps, found: ScoreMap) -> tuple[float, float]:
    """Give how far scores move up and down at most, on the scale of the user's file."""
    low, high = model.fitted_on_["score_range"]
    at = np.union1d(found.knots, np.linspace(low, high, 101))
    at = at[(at >= low) & (at <= high)]
    shift = (found(at) - at) * (-1.0 if model.lower_is_riskier_ else 1.0)
    return max(float(shift.max()), 0.0), max(float(-shift.min()), 0.0)


def _largest_shift(model: FairMaps, found: ScoreMap) -> str:
    if found.is_identity:
        return "-"
    if isinstance(found, ShiftMap):
        return found.in_words()
    up, down = _shifts(model, found)
    said = [f"{way} by up to {by:.3g}" for way, by in (("up", up), ("down", down)) if by > 0]
    return ", ".join(said) or "-"


def _own_range(model: Any) -> tuple[float, float]:
    """Give the range of the fitted scores as the user's file had them."""
    low, high = model.fitted_on_["score_range"]
    return turned_range((low, high)) if model.lower_is_riskier_ else (low, high)


def _print_picture(out: Output, model: Any) -> None:
    """Draw new scores over old ones, for people at a terminal."""
    if not out.on_terminal:
        return
    sign = -1.0 if model.lower_is_riskier_ else 1.0
    x = np.linspace(*_own_range(model), 240)
    moving = [g for g in model.groups_ if not model.maps_[g].is_identity][: len(_MARKS)]
    out.heading("Adjusted score (upwards) over original score; dots: no change")
    layers = [Marks(x, x, "."), *(Marks(x, sign * model.maps_[g](sign * x), mark) for g, mark in zip(moving, _MARKS))]
    for line in picture(layers, width=out.plot_width):
        out.line(line)
    out.line("   ".join(f"{mark} {_name(model, g)}" for g, mark in zip(moving, _MARKS)))


def _document(model: FairMaps) -> dict[str, Any]:
    dial, value = model.dial_
    by_group = isinstance(value, dict)
    own, then = parted(model.maps_)
    return {
        "method": model.method_,
        "parameters": {name: repr(v) if isinstance(v, dict) else v for name, v in model.params_.items()},
        "dial": {"name": dial, "value": [{"group": g, "value": v} for g, v in value.items()] if by_group else value},
        "reference": model.reference_,
        "thresholds": None
        if model.thresholds_ is None
        else [{"group": g, "value": v} for g, v in model.thresholds_.items()],
        "apply": {"kind": "maps"},
        "columns": model.columns_,
        "fitted_on": model.fitted_on_,
        "certificate": model.certified_,
        "private": model.private_,
        "simplified": model.simplified_,
        "then": None if then is None else {"knots": then.knots.tolist(), "values": then.values.tolist()},
        "maps": [_map_document(group, own[group]) for group in model.groups_],
    }


def _map_document(group: Any, found: ScoreMap) -> dict[str, Any]:
    return {
        "group": group,
        "knots": len(found.knots),
        "identity": found.is_identity,
        "monotone": found.is_monotone,
        "range": [float(found.knots[0]), float(found.knots[-1])] if len(found.knots) else None,
        "values": [float(found.values.min()), float(found.values.max())] if len(found.knots) else None,
    }
