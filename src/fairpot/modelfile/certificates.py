"""The certificate in a model file: what the gap was signed for, and the numbers behind it."""

from __future__ import annotations

from typing import Any

from fairpot.modelfile.checks import check_group, check_list, check_name, check_number, check_object, check_text

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
