"""Several models' scores of the same rows, audited side by side."""

from __future__ import annotations

from dataclasses import dataclass

from fairpot import words
from fairpot._shown import Bar, ShownBars, bar, ends_of
from fairpot.inference import Changes
from fairpot.results.audited import Audit
from fairpot.results.kinds import Plain


@dataclass(frozen=True, eq=False, repr=False)
class Audits(ShownBars):
    """Several models' scores of the same rows, audited side by side; what :func:`audit` gives for a dict.

    Attributes
    ----------
    audits : dict of name to Audit
    changes : dict of name to Changes
        Of every model but the first: AUC, gaps and xAUCs against those of the first. They are of the same rows, so that
        the limits of a difference are often much narrower than those of the two numbers would let one think.

    Examples
    --------
    >>> import fairpot
    >>> y, sex = [1, 0, 1, 0, 1, 0, 1, 0] * 10, (["F"] * 4 + ["M"] * 4) * 10
    >>> old, new = [0.6, 0.3, 0.5, 0.2, 0.9, 0.4, 0.8, 0.55] * 10, [0.6, 0.3, 0.5, 0.2, 0.6, 0.3, 0.5, 0.2] * 10
    >>> found = fairpot.audit(y, {"old": old, "new": new}, sensitive_features=sex)
    >>> found["new"].gap, found.changes["new"].gap.change
    (0.0, -0.25)
    """

    audits: dict[str, Audit]
    changes: dict[str, Changes]

    def __repr__(self) -> str:
        shown = [f"{name} gap {float(each.gap):.3f}" for name, each in self.audits.items() if each.gap is not None]
        return f"<Audits of {len(self)} models: {words.listed(shown or list(self.audits), 3)}>"

    def __getitem__(self, name: str) -> Audit:
        return self.audits[name]

    def __len__(self) -> int:
        return len(self.audits)

    def _listed(self) -> list[Plain]:
        """Give a row for each model: AUC and gap with their limits, and how they differ from the first model's."""
        found = []
        for name, each in self.audits.items():
            row: Plain = {"model": name, **ends_of("auc", each.auc), **ends_of("gap", each.gap)}
            for metric in ("auc", "gap"):
                row |= ends_of(f"{metric}_change", getattr(self.changes.get(name), metric, None))
            found.append(row)
        return found

    def _bars(self) -> list[Bar]:
        """Draw the gap of each model, then the difference from the first; without outcomes, selection rates."""
        first = next(iter(self.audits))
        if not self[first].ranking.labelled:
            rates = {name: each.spoken.rates[0]["selection_rate"] for name, each in self.audits.items()}
            return [bar(f"{name}: selection rate of {g.group}", g.value) for name, e in rates.items() for g in e.groups]
        gaps = [bar(f"{name}: {each.statement.metric}", each.statement.gap) for name, each in self.audits.items()]
        changes = [bar(f"{name} minus {first}: AUC", change.auc) for name, change in self.changes.items()]
        return [*gaps, *changes]

    def _says(self) -> list[str]:
        said = [each.answer[0] for each in self.audits.values()]
        found = [f"{name}: {text}" for name, text in zip(self.audits, said)]
        return [f"{len(self)} models on the same rows, with intervals", *found, *self._notes()]

    def _notes(self) -> list[str]:
        return [f"{name}: {text}" for name, each in self.audits.items() for text in each.warnings]

    def to_dict(self) -> Plain:
        """Return all numbers as plain values, ready for JSON."""
        changes = {name: change.to_dict() for name, change in self.changes.items()}
        return {"models": {name: {**a.to_dict(), "change": changes.get(name)} for name, a in self.audits.items()}}

    def __str__(self) -> str:
        lines = [
            f"{name}: AUC {each.auc!s}, {each.statement.metric} {each.statement.gap!s}"
            if each.ranking.labelled
            else f"{name}: {each.answer[0]}"
            for name, each in self.audits.items()
        ]
        first = next(iter(self.audits))
        for name, change in self.changes.items():
            lines += [f"{first} -> {name}: AUC {change.auc}", f"{first} -> {name}: gap {change.headline}"]
        return "\n".join([*lines, *(f"note: {text}" for text in self._notes())])
