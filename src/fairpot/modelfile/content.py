"""ModelFile: the content of a model file as plain values, and its way to JSON and back."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairpot._validation.groups import sort_key
from fairpot.exceptions import ModelFileError
from fairpot.modelfile.checks import (
    by_group,
    check_ascending,
    check_origin,
    check_plausible,
    check_then,
    check_told_apart,
    refuse,
    shown,
)
from fairpot.modelfile.forms import MOST_KNOTS, SCHEMA_VERSION, FittedOn1, Sigmoid1, check
from fairpot.modelfile.origin import FEWER_THAN, plain_group

# Absent from a file where they are None.
_OPTIONAL = ("certificate", "private", "simplified", "then")


def encode(value: Any, where: str) -> Any:
    """Turn a parameter into JSON; a dict of groups becomes a list, so that groups keep their types.

    >>> encode({"M": 0.5, "F": 1}, "lam")
    {'by_group': [{'group': 'F', 'value': 1}, {'group': 'M', 'value': 0.5}]}
    """
    value = plain_group(value)
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Mapping):
        plain = {plain_group(group): encode(each, where) for group, each in value.items()}
        order = sorted(plain, key=sort_key)
        return {"by_group": [{"group": group, "value": plain[group]} for group in order]}
    column = np.asarray(value)
    if column.ndim != 1 or isinstance(value, bytes):
        raise ModelFileError(
            f"{where} cannot be put into a map file: {shown(value)} is {type(value).__name__}.\n"
            "Hint: use text, numbers, booleans, lists of them, or a dict of groups."
        )
    return [plain_group(each) for each in column.tolist()]


def decode(value: Any, where: str) -> Any:
    """Turn a parameter back; the reverse of :func:`encode`."""
    return by_group(value["by_group"], where, "value") if isinstance(value, dict) else value


def from_version_1(content: dict[str, Any]) -> dict[str, Any]:
    """Drop what version 1 put down and this one does not: the hash of the data, and the knots of sigmoids.

    Only what is dropped is checked here.
    """
    changed: dict[str, Any] = {"schema_version": SCHEMA_VERSION}
    if "fitted_on" in content:
        check(content["fitted_on"], FittedOn1, "fitted_on")
        kept = {key: value for key, value in content["fitted_on"].items() if key != "table_sha256"}
        changed["fitted_on"] = kept | {"fewer_than": FEWER_THAN, "fingerprint": None}
    if isinstance(content.get("maps"), list):
        changed["maps"] = [_without_knots(entry, place) for place, entry in enumerate(content["maps"])]
    return content | changed


def _without_knots(entry: Any, place: int) -> Any:
    found = entry.get("map") if isinstance(entry, dict) else None
    if not isinstance(found, dict) or found.get("kind") != "sigmoid":
        return entry
    check(found, Sigmoid1, f"maps[{place}].map")
    check_ascending(np.array(found["knots"], dtype=np.float64), f"maps[{place}].map.knots")
    return entry | {"map": {key: value for key, value in found.items() if key != "knots"}}


@dataclass(frozen=True)
class ModelFile:
    """Hold what a map file holds, as plain values.

    Parameters
    ----------
    method : str
        Name of the method, such as "FairPOT".
    parameters : dict of str to value
        What the method was given; where groups have their own values, a dict of group to value.
    dial : (str, value)
        The name of the repair strength (lam, t, slope, theta, shift) and its value, given or chosen in ``fit``.
    maps : dict of group to dict
        The map of each group: ``{"kind": "piecewise"}`` with the fields of :meth:`ScoreMap.to_dict`, or
        ``{"kind": "sigmoid", "alpha", "beta"}``, or ``{"kind": "shift", "factor", "added", "negative"}``.
    reference : name of a group or None
        The group whose scores do not change.
    thresholds : dict of group to float, or None
        The lowest score of the fitted top-alpha region.
    apply : dict
        What is needed beyond the maps: ``{"kind": "maps"}`` nothing; ``{"kind": "top_of_batch", "alpha",
        "region"}`` and ``{"kind": "barycentre_of_batch", "t"}`` look at all rows that are transformed.
    fitted_on : dict
        See :func:`describe_table`.
    certificate : dict or None
        The certified bound on the gap, its confidence, how and on which rows it was tested, with AUC and gap there; see
        :meth:`fairpot.inference.Certificate.to_dict`.
    columns : dict or None
        ``{"score": name, "group": [names]}``: where the rows' columns were called something, what; with
        ``"lower_is_riskier": True`` where a low score means high risk, and the maps are of scores with a minus, and
        ``"high_score_means"``, "help" or "harm", where that was said.
    private : dict or None
        ``{"largest_error", "step"}``: where the maps are simplified and rounded ones, by how much.
    then : dict or None
        The piecewise map that follows those of all groups and makes probabilities of their scores, if there is one.
    simplified : dict or None
        ``{"largest_error", "knots_before", "knots", "auc_change", "gap_change"}``: where maps of very many
        knots were simplified, what that changes.

    Examples
    --------
    >>> from fairpot import FairPOT
    >>> repair = FairPOT(lam=0.5, reference="M").fit(range(40), sensitive_features=["F", "M"] * 20)
    >>> found = repair.fair_maps_.file_content()
    >>> found.method, found.dial, found.reference
    ('FairPOT', ('lam', 0.5), 'M')
    """

    method: str
    parameters: dict[str, Any]
    dial: tuple[str, Any]
    maps: dict[Hashable, dict[str, Any]]
    reference: Hashable | None
    thresholds: dict[Hashable, float] | None
    apply: dict[str, Any]
    fitted_on: dict[str, Any]
    columns: dict[str, Any] | None = None
    certificate: dict[str, Any] | None = None
    private: dict[str, Any] | None = None
    then: dict[str, Any] | None = None
    simplified: dict[str, Any] | None = None

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """Names of the groups."""
        return tuple(self.maps)

    @property
    def on_grid(self) -> bool:
        """Whether the maps are tables that stay on a grid of scores; earlier versions called that ``keep_grid``."""
        return self.parameters.get("keep") == "grid" or bool(self.parameters.get("keep_grid"))

    def to_json(self) -> dict[str, Any]:
        """Return lists, objects, texts and numbers, ready for JSON."""
        check_told_apart(self.maps)
        name, value = self.dial
        return {
            "method": self.method,
            "parameters": {key: encode(given, f"parameters.{key}") for key, given in self.parameters.items()},
            "dial": {"name": name, "value": encode(value, "dial.value")},
            "maps": _listed(self.maps, "map"),
            "reference": plain_group(self.reference),
            "thresholds": None if self.thresholds is None else _listed(self.thresholds, "value"),
            "apply": self.apply,
            "fitted_on": self.fitted_on,
            "columns": self.columns,
            **{key: getattr(self, key) for key in _OPTIONAL if getattr(self, key) is not None},
        }

    @classmethod
    def from_json(cls, content: Any) -> ModelFile:
        """Check a parsed file; but for the checksum, anything that is not as :meth:`to_json` makes it is refused."""
        check(content)
        maps = by_group(content["maps"], "maps", "map")
        check_told_apart(maps)
        check_origin(content["fitted_on"], maps)
        model = cls(
            method=content["method"],
            parameters={
                name: decode(value, f"parameters[{name!r:.80}]") for name, value in content["parameters"].items()
            },
            dial=(content["dial"]["name"], decode(content["dial"]["value"], "dial.value")),
            maps=_maps(maps),
            reference=_reference(content["reference"], maps),
            thresholds=_thresholds(content["thresholds"], maps),
            apply=content["apply"],
            fitted_on=content["fitted_on"],
            columns=content["columns"],
            **{key: content.get(key) for key in _OPTIONAL},
        )
        check_plausible(model.method, model.maps, model.fitted_on["score_range"], cut=model.on_grid)
        if model.then is not None:
            model = replace(model, then=_map(model.then, "then"))
            check_then(model.then, private=model.private is not None)
        return model


def _listed(by_group: Mapping[Hashable, Any], key: str) -> list[dict[str, Any]]:
    return [{"group": plain_group(group), key: value} for group, value in by_group.items()]


def _maps(maps: Mapping[Hashable, Any]) -> dict[Hashable, dict[str, Any]]:
    made = {group: _map(content, f"maps[{i}].map") for i, (group, content) in enumerate(maps.items())}
    knots = sum(len(each.get("knots", ())) for each in made.values())
    if knots > MOST_KNOTS:
        hint = "Hint: fit and save again; maps of so many are simplified."
        refuse("maps", f"of at most {MOST_KNOTS} breakpoints together", knots, hint)
    return made


def _map(content: dict[str, Any], where: str) -> dict[str, Any]:
    """Turn whole numbers into floats; check that knots ascend and that each has a value."""
    if content["kind"] == "sigmoid":
        return content | {name: float(content[name]) for name in ("alpha", "beta")}
    if content["kind"] == "shift":
        factor = content["factor"]
        if factor is not None and content["added"] != 0:
            refuse(f"{where}.added", "0 where there is a factor", content["added"])
        return content | {"factor": None if factor is None else float(factor), "added": float(content["added"])}
    knots, values = (np.array(content[name], dtype=np.float64) for name in ("knots", "values"))
    check_ascending(knots, f"{where}.knots")
    if len(knots) != len(values):
        refuse(where, "of one value for each breakpoint", (len(knots), len(values)))
    bounds = {name: None if content[name] is None else float(content[name]) for name in ("floor", "start")}
    return content | bounds | {"knots": knots.tolist(), "values": values.tolist()}


def _reference(value: Any, groups: Collection[Hashable]) -> Hashable | None:
    if value is not None and (value, type(value)) not in [(group, type(group)) for group in groups]:
        refuse("reference", "one of the groups, or null", value)
    return value


def _thresholds(content: Any, groups: Collection[Hashable]) -> dict[Hashable, float] | None:
    if content is None:
        return None
    return {group: float(value) for group, value in by_group(content, "thresholds", "value", groups).items()}
