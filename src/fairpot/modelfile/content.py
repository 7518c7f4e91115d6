"""ModelFile: the content of a model file as plain values, and its way to JSON and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpot._validation.groups import sort_key
from fairpot.exceptions import ModelFileError
from fairpot.modelfile.checks import (
    MAX_KNOTS,
    check_ascending,
    check_by_group,
    check_group,
    check_list,
    check_name,
    check_number,
    check_numbers,
    check_object,
    check_origin,
    check_plausible,
    check_text,
    refuse,
    shown,
)
from fairpot.modelfile.origin import FEWER_THAN, plain_group

_INTERVALS = ("auc", "auc_before", "gap", "gap_before")
_KEYS = (*_INTERVALS, "bound", "confidence", "how", "rows")
_NUMBERS = ("estimate", "se", "low", "high", "level")
_INTERVAL = (*_NUMBERS, "method", "signed", "groups", "reason", "note")


def check_certificate(content: Any) -> dict[str, Any]:
    """Check a certificate: a bound and a confidence in [0, 1], and two numbers with their limits."""
    content = check_object(content, "certificate", _KEYS)
    for name in ("bound", "confidence"):
        check_number(content[name], f"certificate.{name}", 0, 1)
    check_name(content["how"], "certificate.how", ("walk", "step-down"))
    check_text(content["rows"], "certificate.rows")
    for name in _INTERVALS:
        interval = check_object(content[name], f"certificate.{name}", _INTERVAL)
        for number in _NUMBERS:
            check_number(interval[number], f"certificate.{name}.{number}")
        check_text(interval["method"], f"certificate.{name}.method")
        for text in ("reason", "note"):
            if interval[text] is not None:
                check_text(interval[text], f"certificate.{name}.{text}")
        if interval["signed"] is not None:
            check_number(interval["signed"], f"certificate.{name}.signed")
        for group in check_list([] if interval["groups"] is None else interval["groups"], f"certificate.{name}.groups"):
            check_group(group, f"certificate.{name}.groups")
    return content


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
            f"{where} cannot be put into a model file: {shown(value)} is {type(value).__name__}.\n"
            "Hint: use text, numbers, booleans, lists of them, or a dict of groups."
        )
    return [_scalar(plain_group(each), where) for each in column.tolist()]


def decode(value: Any, where: str) -> Any:
    """Check a parameter and turn it back; the reverse of :func:`encode`."""
    if isinstance(value, list):
        return [_scalar(each, where) for each in check_list(value, where)]
    if isinstance(value, dict):
        found: dict[Hashable, Any] = check_by_group(
            check_object(value, where, ("by_group",))["by_group"], where, "value"
        )
        return {group: _scalar(each, where) for group, each in found.items()}
    return _scalar(value, where)


def _scalar(value: Any, where: str) -> Any:
    """Check null, a boolean, a text or a number."""
    if value is None or isinstance(value, bool):
        return value
    return check_text(value, where) if isinstance(value, str) else check_number(value, where)


_ORIGIN_1 = ("groups", "labelled", "library_version", "rows", "score_range", "table_sha256", "time")


def from_version_1(content: dict[str, Any]) -> dict[str, Any]:
    """Drop what version 1 put down and this one does not: the hash of the data, and the knots of sigmoids.

    Only what is dropped is checked here.
    """
    origin = dict(check_object(content["fitted_on"], "fitted_on", _ORIGIN_1))
    digest = origin.pop("table_sha256")
    if not isinstance(digest, str) or not re.fullmatch("[0-9a-f]{64}", digest):
        refuse("fitted_on.table_sha256", "64 hexadecimal digits", digest)
    maps = content["maps"]
    if isinstance(maps, list):
        maps = [_without_knots(entry) for entry in maps]
    return content | {"fitted_on": origin | {"fewer_than": FEWER_THAN, "fingerprint": None}, "maps": maps}


def _without_knots(entry: Any) -> Any:
    found = entry.get("map") if isinstance(entry, dict) else None
    if not isinstance(found, dict) or found.get("kind") != "sigmoid":
        return entry
    check_object(found, "a sigmoid", ("kind", "knots", "alpha", "beta"))
    check_ascending(found["knots"], "a sigmoid: knots")
    return entry | {"map": {key: value for key, value in found.items() if key != "knots"}}


KEYS = ("apply", "columns", "dial", "fitted_on", "maps", "method", "parameters", "reference", "thresholds")
_EDGES = ("identity", "hold")


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds, as plain values.

    Parameters
    ----------
    method : str
        Name of the method, such as "FairPOT".
    parameters : dict of str to value
        What the method was given; where groups have their own values, a dict of group to value.
    dial : (str, value)
        The method's dial (lam, t, alpha, theta) and its value as given or chosen in ``fit``.
    maps : dict of group to dict
        The map of each group: ``{"kind": "piecewise"}`` with the fields of :meth:`ScoreMap.to_dict`, or
        ``{"kind": "sigmoid", "alpha", "beta"}``.
    reference : name of a group or None
    thresholds : dict of group to float, or None
        The lowest score of the fitted top-alpha region.
    apply : dict
        What is needed beyond the maps: ``{"kind": "maps"}`` nothing; ``{"kind": "top_of_batch", "alpha",
        "region"}`` and ``{"kind": "barycentre_of_batch", "t"}`` look at all rows that are transformed.
    fitted_on : dict
        See :func:`describe_table`.
    certificate : dict or None
        What the gap was certified to be within, how surely, how and on which rows, with AUC and gap there; see
        :meth:`fairpot.inference.Certificate.as_dict`.
    columns : dict or None
        ``{"score": name, "group": [names]}``: where the rows' columns were called something, what; with
        ``"lower_is_riskier": True`` where a low score means high risk, and the maps are of scores with a minus.
    private : dict or None
        ``{"largest_error", "step"}``: where the maps are simplified and rounded ones, by how much.
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

    @property
    def groups(self) -> tuple[Hashable, ...]:
        """Names of the groups."""
        return tuple(self.maps)

    def to_json(self) -> dict[str, Any]:
        """Return lists, objects, texts and numbers, ready for JSON."""
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
            **{key: getattr(self, key) for key in OPTIONAL if getattr(self, key) is not None},
        }

    @classmethod
    def from_json(cls, content: Any) -> ModelFile:
        """Check parsed JSON; anything that is not as :meth:`to_json` makes it is refused."""
        optional: dict[str, Any] = {}
        if isinstance(content, dict):  # files without them do not name them
            content = dict(content)
            optional = {key: check(content.pop(key)) for key, check in OPTIONAL.items() if key in content}
        content = check_object(content, "the file", KEYS)
        maps = check_by_group(content["maps"], "maps", "map")
        if not maps:
            refuse("maps", "a list with at least one group", content["maps"])
        model = cls(
            method=check_text(content["method"], "method"),
            parameters=_parameters(content["parameters"]),
            dial=_dial(content["dial"]),
            maps=_maps(maps),
            reference=_reference(content["reference"], maps),
            thresholds=_thresholds(content["thresholds"], maps),
            apply=_apply(content["apply"]),
            fitted_on=check_origin(content["fitted_on"], maps),
            columns=_columns(content["columns"]),
            **optional,
        )
        check_plausible(model.method, model.maps, model.fitted_on["score_range"])
        return model


def _listed(by_group: Mapping[Hashable, Any], key: str) -> list[dict[str, Any]]:
    return [{"group": plain_group(group), key: value} for group, value in by_group.items()]


def _parameters(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        refuse("parameters", "an object", content)
    return {check_text(name, "parameters"): decode(value, f"parameters.{name}") for name, value in content.items()}


def _dial(content: Any) -> tuple[str, Any]:
    content = check_object(content, "dial", ("name", "value"))
    value = decode(content["value"], "dial.value")
    for number in value.values() if isinstance(value, dict) else [value]:
        check_number(number, "dial.value")
    return check_text(content["name"], "dial.name"), value


def _maps(maps: Mapping[Hashable, Any]) -> dict[Hashable, dict[str, Any]]:
    checked = {group: _map(content, f"the map of group {shown(group)}") for group, content in maps.items()}
    knots = sum(len(each.get("knots", ())) for each in checked.values())
    if knots > MAX_KNOTS:
        refuse("maps", f"of at most {MAX_KNOTS} knots together", knots, "Hint: fit on a quantised score table.")
    return checked


def _map(content: Any, where: str) -> dict[str, Any]:
    kind = content.get("kind") if isinstance(content, dict) else None
    return _MAPS[check_name(kind, f"the kind of {where}", _MAPS)](content, where)


def _piecewise(content: Any, where: str) -> dict[str, Any]:
    check_object(content, where, ("kind", "knots", "values", "below", "above", "floor", "start"))
    knots = check_ascending(content["knots"], f"{where}: knots")
    values = check_numbers(content["values"], f"{where}: values")
    if len(knots) != len(values):
        refuse(where, "of one value for each knot", (len(knots), len(values)))
    for edge in ("below", "above"):
        check_name(content[edge], f"{where}: {edge}", _EDGES)
    bounds = {name: _bound(content[name], f"{where}: {name}") for name in ("floor", "start")}
    return content | bounds | {"knots": knots.tolist(), "values": values.tolist()}


def _bound(value: Any, where: str) -> float | None:
    return None if value is None else float(check_number(value, where))


def _sigmoid(content: Any, where: str) -> dict[str, Any]:
    check_object(content, where, ("kind", "alpha", "beta"))
    return content | {name: float(check_number(content[name], f"{where}: {name}")) for name in ("alpha", "beta")}


_MAPS: dict[str, Callable[[Any, str], dict[str, Any]]] = {"piecewise": _piecewise, "sigmoid": _sigmoid}


def _reference(value: Any, groups: Collection[Hashable]) -> Hashable | None:
    if value is not None and (check_group(value, "reference"), type(value)) not in [(g, type(g)) for g in groups]:
        refuse("reference", "one of the groups, or null", value)
    return value


def _thresholds(content: Any, groups: Collection[Hashable]) -> dict[Hashable, float] | None:
    if content is None:
        return None
    found = check_by_group(content, "thresholds", "value", groups)
    return {group: float(check_number(value, "thresholds")) for group, value in found.items()}


def _apply(content: Any) -> dict[str, Any]:
    kind = content.get("kind") if isinstance(content, dict) else None
    names = {"maps": (), "top_of_batch": ("alpha", "region"), "barycentre_of_batch": ("t",)}
    wanted = names[check_name(kind, "apply.kind", names)]
    if kind == "barycentre_of_batch" and "left_out" in content:
        wanted = (*wanted, "left_out")
        for group in check_list(content["left_out"], "apply.left_out", least=1):
            check_group(group, "apply.left_out")
    check_object(content, "apply", ("kind", *wanted))
    for name in ("alpha", "t"):
        if name in content:
            check_number(content[name], f"apply.{name}", 0.0, 1.0)
    if kind == "top_of_batch":
        check_name(content["region"], "apply.region", ("pooled", "group"))
        if content["alpha"] == 0:
            refuse("apply.alpha", "above 0", content["alpha"])
    return dict(content)


def _columns(content: Any) -> dict[str, Any] | None:
    if content is None:
        return None
    turned = isinstance(content, dict) and "lower_is_riskier" in content
    check_object(content, "columns", ("group", "score", *(["lower_is_riskier"] if turned else [])))
    groups = [check_text(name, "columns.group") for name in check_list(content["group"], "columns.group", least=1)]
    if turned and content["lower_is_riskier"] is not True:
        refuse("columns.lower_is_riskier", "true, or absent", content["lower_is_riskier"])
    named = {"score": check_text(content["score"], "columns.score"), "group": groups}
    return named | ({"lower_is_riskier": True} if turned else {})


def _private(content: Any) -> dict[str, Any]:
    content = check_object(content, "private", ("largest_error", "step"))
    return {name: float(check_number(content[name], f"private.{name}", 0.0)) for name in content}


OPTIONAL: dict[str, Callable[[Any], dict[str, Any]]] = {"certificate": check_certificate, "private": _private}
