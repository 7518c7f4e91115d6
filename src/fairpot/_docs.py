"""What docstrings say of parameters that many functions share: a line ``{y_true, y_score}`` stands for their entries.

Entries have the defaults of the function itself, below the heading ``Parameters`` where the line stands alone.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

from fairpot._said import WORDS

_PARAMETERS = """\
y_true : column of shape (n,)
    Outcomes, 0/1 or booleans; other two-valued outcomes with ``pos_label``.
y_score : column of shape (n,)
    Scores on any scale: probabilities, log-odds, ranks.
scores : column of shape (n,) or (n, 1)
    Scores of the model: list, NumPy array, pandas, Polars or PyArrow column.
y : column of shape (n,)
    Outcomes, 0/1.
X : frame or array of shape (n, d)
    Features, as the model takes them.
reference : name of a group or None
    The group that a repair does not change and that pairs are seen from. None takes the one ranked highest, or, where a
    high score harms, the one ranked lowest.
among : name of a group or None
    The group whose rows are looked at; None looks at all.
positive : name of a group
    The group whose rows with the outcome are compared.
negative : name of a group
    The group whose rows without the outcome they are compared with.
top : float in (0, 1], or int
    Share of the rows in the top, or how many; rows tied with the lowest of them are in it too.
top_of : {"all", "group"}
    The top of all rows, or the top of each group.
ties : {"half", "strict"}
    Whether equal scores count as half a win (scikit-learn) or as none (the paper).
undefined : {"nan", "paper"}
    What comes back, with an ``UndefinedMetricWarning``, if there are no pairs to count: NaN, or the paper's value.
level : float in (0, 1)
    Confidence level: an interval, or either answer of a verdict, is wrong at most ``1 - level`` of the time.
guards : {"overall", "top", "both"} or None
    Which gap is judged: over all rows, in the top, or both. None takes both, where a top was asked for.
max_gap : float
    The target gap: the largest that you accept.
bound : float in [0, 1]
    The target gap: the largest that you accept.
confidence : float
    With which confidence.
unknown_group : {"error", "keep", "null"}
    What becomes of rows whose group was not seen in ``fit``: an error that counts them, the original score, or NaN.
missing_group : {"error", "keep", "null"}
    What becomes of rows that have no group, likewise.
other_scale : {"error", "warn"} or None
    What is done about scores that seem to be on another scale than those of ``fit``. None stops if nine in ten lie far
    outside the fitted range, and warns otherwise.
maps : dict of group to ScoreMap
    Also show what these make of the scores, such as ``repair.maps_``.
table : ScoreTable
    Counted rows, with outcomes.
ax : matplotlib axes, or several for several panels
    Where to draw; None makes a new figure.
**rows
    What else ``fit`` takes of rows: ``sensitive_features``, ``sample_weight``, ``clusters``, ``weights``, ...
**options
    Those of the function, or class, of this kind in :mod:`fairpot.export`.
path : str or path
    Where the file goes.
overwrite : bool
    Whether an existing file is replaced.
max_bytes : int
    A larger file is refused.
"""
# What every export takes; what every repair method, and every model for the top, takes, and has when it is fitted.
_BLOCKS = {
    "exported": """\
maps : dict of group to ScoreMap, KnownMaps or SimplifiedMaps
    The ``maps_`` of a fitted method or of a loaded map file; its ``exported`` knows more of them, which is written
    into the result: the scores that are taken, the SHA-256 of the file, and what bands call groups.""",
    "unmapped": """\
unknown_group, missing_group : {"error", "keep", "null"}, default "error"
    What becomes of a group that has no map, and of one that is missing (None, null or NaN): an error, the score as it
    is, or NaN.""",
    "beyond": """\
outside : {"refuse", "clamp"}, default "refuse"
    What becomes of a score far outside the fitted range, in every group, where the maps know its limits: it is refused,
    or counts as the limit. Refused means an error in Python, NULL in SQL, NaN in ONNX and JavaScript.""",
    "data_files": """\
data_home : path, default=None
    Folder to look in first, then in ``FAIRPOT_DATA`` and the cache; a download (extra ``data``) is stored there. Every
    copy is verified.
download_if_missing : bool, default=True
    False raises instead of downloading.""",
    "repairing": """\
max_gap, max_auc_loss, net_benefit_at : float or None, default None
    The rule: the highest AUC (or net benefit at this threshold) with at most that gap between any
    two groups; or the smallest gap that costs at most that AUC. None of them: the smallest gap.
confidence : float or None, default None
    Certify ``max_gap`` by cross-fitting. Without it a target holds on the fitted rows; on new rows
    it was kept in 29 to 61% of our splits, depending on target and method.
top, top_of : float in (0, 1], int or None, default None; and {"all", "group"}, default "all"
    Bound the gap in this top only, a share or a number of rows: of all rows or of each group.
repair : {"all", "top"}, default "all"
    With "top" only scores in the top are moved, and nobody falls out of it (the partial case).
reference : name of a group or None, default None
    The group whose scores do not change; None takes the highest, or lowest where a score harms.
keep : {None, "grid", "probabilities"}, default None
    "grid": deciles in, deciles out. "probabilities": one increasing map makes scores probabilities.
ties : {"half", "strict"}, default "half"
    How ties count where the reference or the strength is chosen; "strict" is the paper's way.""",
    "fitted": """\
strength_, strengths_ : float, and dict of moved group to float
    The strength; and that of each group, of which ``strength_`` is how far they go, 0 to 1.
maps_, fair_maps_ : dict of group to ScoreMap, and FairMaps, which has the exports (``to_sql``)
achieved_, certificate_ : AUC and gap of the fitted rows, before and after; Certificate or None
groups_, reference_, left_out_, starts_, table_ : groups, where a repaired top begins, the rows""",
}

Named = TypeVar("Named", bound=Callable[..., Any])
_ENTRIES = {found[1]: found[0] for found in re.finditer(r"^(\S.*?)(?: : .*)?\n(?: .*\n)+", _PARAMETERS, re.MULTILINE)}
_PLACE = re.compile(r"(\n\n)?^( *)\{([\w*, \n]+)\}$", re.MULTILINE)


def _filled(doc: str, of: Callable[..., Any]) -> str:
    """Put the entries of shared parameters where a docstring names them, with the defaults that a callable has."""
    parameters = inspect.signature(of).parameters

    def entry(name: str) -> str:
        if name == "said":  # all that is said of rows there
            return "\n".join(word.entry(each) for each, word in WORDS.items() if each in parameters)
        if name in _BLOCKS:
            return _BLOCKS[name]
        if name in WORDS and name not in _ENTRIES:
            return WORDS[name].entry(name)
        head, _, body = _ENTRIES[name].rstrip().partition("\n")
        default = parameters[name].default if name in parameters else inspect.Parameter.empty
        if default is not inspect.Parameter.empty:
            head += f', default "{default}"' if isinstance(default, str) else f", default {default!r}"
        return f"{head}\n{body}"

    def entries(found: re.Match[str]) -> str:
        alone, indent, names = found.groups()
        text = "\n".join(entry(name) for name in re.split(r",\s*", names))
        text = f"Parameters\n----------\n{text}" if alone else text
        return (alone or "") + "\n".join(f"{indent}{line}" for line in text.split("\n"))

    return _PLACE.sub(entries, doc)


def documented(named: Named) -> Named:
    """Fill in the docstring of a function, or those of a class and its methods, where they name shared parameters."""
    inside = vars(named).values() if isinstance(named, type) else ()
    for each in (named, *(getattr(member, "__func__", member) for member in inside)):
        doc = each.__doc__ if each is named or inspect.isfunction(each) else None
        if doc and _PLACE.search(doc):
            each.__doc__ = _filled(doc, each)
    return named
