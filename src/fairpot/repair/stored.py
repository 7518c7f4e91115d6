"""What a map file holds, as far as applying it needs: maps and what they are of, no estimator and no scikit-learn."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np

from fairpot._defaults import Meaning
from fairpot._version import __version__
from fairpot.exceptions import ModelFileError
from fairpot.modelfile import ModelFile, read
from fairpot.modelfile.checks import refuse, shown
from fairpot.modelfile.text import naming
from fairpot.repair.registry import method_of
from fairpot.repair.scale import ScoreScale
from fairpot.transport import ScoreMap, ShiftMap, followed, parted

# What parameters and strengths were called in files of earlier versions.
_RENAMED = {"FairPOT": {"threshold": "region_from"}, "PostLogit": {"alpha": "slope"}}


@dataclass(frozen=True)
class StoredMaps:
    """Maps of a file, and what applying them to rows has to know; the names are those of FairMaps."""

    method_: str
    groups_: tuple[Hashable, ...]
    maps_: dict[Hashable, ScoreMap]
    reference_: Hashable | None
    left_out_: tuple[Hashable, ...]
    columns_: dict[str, Any] | None
    scale: ScoreScale

    @property
    def lower_is_riskier_(self) -> bool:
        """Whether a low score means high risk: maps are then of scores with a minus."""
        return bool((self.columns_ or {}).get("lower_is_riskier", False))

    @property
    def high_score_means_(self) -> Meaning | None:
        """What a high score does to a person, if that was said."""
        return (self.columns_ or {}).get("high_score_means")


def stored_maps(path: str | PathLike[str], *, expect_sha256: str | None = None) -> StoredMaps:
    """Read the maps of a file; what else it says of the method that made them, `fairpot.load` looks at."""
    content = read(path, expect_sha256=expect_sha256)
    with naming(path):
        return made_of(content)


def made_of(content: ModelFile) -> StoredMaps:
    """Make the maps of the content of a file."""
    content = with_new_names(content)
    hint = f"Hint: it was written by fairpot {shown(content.fitted_on['library_version'])}, and this is {__version__}."
    if content.apply.get("kind") != "maps":
        raise ModelFileError(
            "these maps are made anew from each batch that they are applied to, which fairpot no longer does.\n"
            "Hint: fit and save again; the maps are then those of the fitted rows."
        )
    if not content.method.isidentifier():
        raise ModelFileError(f"the method {shown(content.method)} is not the name of one.\n{hint}")
    for name, value in content.parameters.items():
        _check_parameter(name, value)
    own = {group: _make_map(each) for group, each in content.maps.items()}
    low, high = content.fitted_on["score_range"]
    return StoredMaps(
        content.method,
        content.groups,
        followed(own, None if content.then is None else _make_map(content.then)),
        content.reference,
        _left_out(content),
        content.columns,
        ScoreScale(float(low), float(high)),
    )


# Parameters that are numbers where they are given.
_NUMBERS = ("alpha", "top", "max_gap", "max_auc_loss", "confidence", "min_group", "capacity", "net_benefit_at")
# Those that are one of some words, and the numbers that a share lies between.
_WORDS: dict[str, tuple[str | None, ...]] = {
    "ties": ("half", "strict"),
    "region": ("pooled", "group"),
    "top_of": ("all", "group"),
    "repair": ("all", "top"),
    "keep": (None, "grid", "probabilities"),
    "high_score_means": (None, "help", "harm"),
}
_SHARES = ("alpha", "max_gap", "max_auc_loss", "confidence", "net_benefit_at")
# Those that say how large the top is.
TOPS = ("alpha", "top", "capacity")


def is_number(value: Any) -> bool:
    """Whether a value is a number, which true and false are not."""
    return isinstance(value, int | float) and type(value) is not bool


def _check_parameter(name: str, value: Any) -> None:
    """Refuse what no fit was given: true or a text for a number, a word that is none, a share beyond 1."""
    for each in value.values() if isinstance(value, dict) else [value]:
        if name in _NUMBERS and each is not None and not is_number(each):
            refuse(f"parameters.{name}", "a number or null", each)
        if name in _SHARES and each is not None and not 0 <= each <= 1:
            refuse(f"parameters.{name}", "from 0 to 1, or null", each)
        if name in TOPS and each is not None and not (each >= 1 if isinstance(each, int) else 0 < each <= 1):
            refuse(f"parameters.{name}", "a share above 0 and up to 1, a number of rows, or null", each)
        if name in _WORDS and each not in _WORDS[name]:
            refuse(f"parameters.{name}", f"one of {', '.join(map(repr, _WORDS[name]))}", each)
        if name == "groups" and each is not None and not isinstance(each, list):
            refuse(f"parameters.{name}", "a list of groups or null", each)


def maps_of(model: Any) -> Any:
    """Give the fitted maps of a repair method, or of what is such maps; None of anything else."""
    return model if isinstance(model, StoredMaps) else import_module("fairpot.repair.fair_maps").fair_maps(model)


def with_new_names(content: ModelFile) -> ModelFile:
    """Call parameters and the dial of a file by the names they have now."""
    names = _RENAMED.get(content.method, {})
    parameters = {names.get(name, name): value for name, value in content.parameters.items()}
    dial, value = content.dial
    return replace(content, parameters=parameters, dial=(names.get(dial, dial), value))


def _left_out(content: ModelFile) -> tuple[Hashable, ...]:
    """Name the groups that the parameters leave out; counts of fewer than ten rows are not in the file."""
    few, named = content.parameters.get("min_group") or 0, content.parameters.get("groups")
    rows = {each["group"]: each["counts"]["rows"] for each in content.fitted_on["groups"]}
    return tuple(g for g in content.groups if (rows[g] or 0) < few or (named is not None and g not in named))


def _make_map(content: dict[str, Any]) -> ScoreMap:
    fields = {key: value for key, value in content.items() if key != "kind"}
    try:
        with np.errstate(all="ignore"):  # numbers near the end of the range overflow where they are compared
            if content["kind"] == "sigmoid":
                from fairpot.repair.sigmoid import PROBES, LogitMap

                return LogitMap(PROBES, **fields)
            return (ShiftMap if content["kind"] == "shift" else ScoreMap).from_dict(fields)
    except ValueError as error:
        raise ModelFileError(f"a map is not one: {error}\nHint: fit and save the model again.") from error


def group_words(maps: Any) -> dict[Hashable, tuple[str, str, str]]:
    """Return for each group what is said of those who are moved, of those who stay, and of all after that."""
    reference, left_out = maps.reference_, maps.left_out_
    moved = moves_by(maps.method_).format(reference=repr(reference))
    stays = dict.fromkeys(maps.groups_, "nobody of the group is moved")
    stays |= dict.fromkeys(left_out, "left out of the comparison: scores stay")
    stays |= {group: "reference group: scores stay" for group in maps.groups_ if group == reference}
    after = "" if parted(maps.maps_)[1] is None else "; then made a probability by the map common to all groups"
    return {group: (moved, stays[group], after) for group in maps.groups_}


def moves_by(method: str) -> str:
    """Say how a method moves scores; ``{reference}`` stands for the group that they go to."""
    known = method_of(method)
    return "moved by the map of the group" if known is None else known._moves_by
