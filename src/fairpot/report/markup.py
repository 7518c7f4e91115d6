"""HTML and SVG built from parts, with everything escaped that is not markup already."""

from __future__ import annotations

import html
from typing import Any

_VOID = frozenset({"meta", "input", "br", "hr"})


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Markup:
    """Make an element; texts are escaped, None and False leave a child or an attribute out.

    A trailing underscore is dropped from the name of an attribute, others become hyphens.

    Examples
    --------
    >>> tag("p", "a < b ", tag("b", "c"), class_="note", data_k='"')
    '<p class="note" data-k="&quot;">a &lt; b <b>c</b></p>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*children: Any) -> Markup:
    """Put children one after another; lists are taken apart.

    Examples
    --------
    >>> join("<", [Markup("<br>"), None])
    '&lt;<br>'
    """
    parts: list[str] = []
    for child in children:
        if isinstance(child, list | tuple):
            parts.append(join(*child))
        elif child is not None and child is not False:
            parts.append(child if isinstance(child, Markup) else html.escape(_printable(str(child)), quote=False))
    return Markup("".join(parts))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{html.escape(_printable(str(value)))}"'


def _printable(text: str) -> str:
    """Show what is no character of a text (controls, surrogates, marks that turn its direction) as its code."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\u200d" else c.encode("unicode_escape").decode() for c in text)
