"""Gates of ``fairpot audit``: what lets a pipeline go on, what was decided, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, Self

import click

from fairpot import words
from fairpot._defaults import LEVEL
from fairpot._log import tell
from fairpot.cli import _options as opt
from fairpot.cli._errors import Failure
from fairpot.cli._lines import print_verdicts
from fairpot.cli._printing import Inline, Output, shown
from fairpot.inference import Estimate, Verdict
from fairpot.results import Audit
from fairpot.results.audit import GUARDS, Guards, strictest
from fairpot.results.kinds import Group, Share
from fairpot.results.rates import RatioVerdict


def _gate(flag: str, text: str, name: str | None = None, **more: Any) -> Any:
    """Declare one thing that can be said of gates: its option, and its key in the settings file."""
    option, key = opt.option(flag, text, name, **more), flag.split()[0].removeprefix("--").replace("-", "_")
    return field(metadata={"option": option, "key": key})


@dataclass(frozen=True)
class GapSeen:
    """A gap that a gate looks at: overall, or in a top."""

    metric: str
    top: Share | None
    gap: float
    pair: tuple[Group, Group]


@dataclass(frozen=True)
class FailAbove:
    """The gate --fail-above: the largest of the gaps that it looks at decides."""

    limit: float
    exceeded: bool
    worst: GapSeen
    gaps: tuple[GapSeen, ...]


@dataclass(frozen=True)
class Judged:
    """What the rows say of a target gap."""

    answer: Literal["within", "exceeds", "cannot tell"]
    metric: str
    top: Share | None
    bound: float
    level: float
    gap: Estimate
    text: str

    @classmethod
    def of(cls, found: Verdict) -> Self:
        """Read it off a verdict."""
        name = words.gap_name(found.top)
        return cls(found.answer, name, found.top, found.bound, found.level, found.interval, str(found))


@dataclass(frozen=True)
class Verdicts:
    """The gate --bound: the strictest of the verdicts, then all of them."""

    strictest: Annotated[Judged, Inline]
    all: tuple[Judged, ...]

    @classmethod
    def of(cls, found: list[Verdict]) -> Self | None:
        """Read them off verdicts, if there are any."""
        return cls(Judged.of(strictest(found)), tuple(map(Judged.of, found))) if found else None


@dataclass(frozen=True)
class RatioVerdicts:
    """The gate --min-ratio: the strictest of the verdicts, then all of them."""

    strictest: Annotated[RatioVerdict, Inline]
    all: tuple[RatioVerdict, ...]

    @classmethod
    def of(cls, found: list[RatioVerdict]) -> Self | None:
        """Put them together, if there are any."""
        return cls(strictest(found), tuple(found)) if found else None


@dataclass(frozen=True)
class Gates:
    """What was asked for: every field is an option, and a key of the settings file."""

    fail_above: float | None = _gate(
        "--fail-above GAP", "Exit with 3 if the measured gap is above GAP.", type=opt.SHARE
    )
    fail_metric: Guards | None = _gate(  # noqa: RUF009 -- a field
        "--fail-metric", "Which gap --fail-above and --bound look at; default: both, if --top is given.", type=GUARDS
    )
    bound: float | None = _gate("--bound GAP", "Say whether the gap is at most GAP.", type=opt.SHARE)
    min_ratio: float | None = _gate(
        "--min-ratio RATIO",
        "Exit with 3 if a selection rate is shown to be below this share of another.",
        type=opt.TOP_SHARE,
    )
    require: str | None = _gate(
        "--require", "With --bound or --min-ratio: exit with 3 unless the answer is shown to be this.", type=("within",)
    )
    allow_chance: bool = _gate("--allow-chance", "Let a score pass that is not shown to be better than chance.")
    rule: str | None = _gate(
        "--for RULE",
        "Print the tables that a rule asks for: four-fifths, ll144, clinical, or a TOML file of your own.",
        "rule",
    )

    @property
    def of_gaps(self) -> bool:
        """Whether a gap is looked at."""
        return self.fail_above is not None or self.bound is not None

    @property
    def stops(self) -> bool:
        """Whether a gap, or a score that is no better than chance, can stop a pipeline."""
        return self.fail_above is not None or (self.require is not None and self.bound is not None)

    def check(self, top: bool) -> None:
        """Refuse what would change nothing; ``top``: whether a top is looked at."""
        if self.require is not None and self.bound is None and self.min_ratio is None:
            raise click.UsageError("--require needs the bound to compare with: --bound 0.05 or --min-ratio 0.8, say.")
        if self.fail_metric is not None and not self.of_gaps:
            raise click.UsageError(
                "--fail-metric says which gap --fail-above or --bound looks at, and neither is given."
            )
        if self.fail_metric == "top" and not top:
            raise click.UsageError("--fail-metric top needs the top to look at: --top 10%, say.")
        if not self.stops:
            opt.needs("allow_chance", "is about a gate: it needs --fail-above, or --bound with --require.")

    def decide(self, found: Audit, level: float) -> Decision:
        """Look at what was found."""
        limit = None if self.fail_above is None else _compared(found, self.fail_above, self.fail_metric)
        verdicts = [] if self.bound is None else found.verdicts(self.bound, level=level, guards=self.fail_metric)
        ratios = [] if self.min_ratio is None else found.ratio_verdicts(self.min_ratio, level=level)
        return Decision(self, found, limit, verdicts, ratios)


GATES = fields(Gates)
gate_options = opt.together(
    *(each.metadata["option"] for each in GATES),
    opt.option("--level LEVEL", "Confidence level.", type=opt.LEVEL, default=LEVEL),
)


@dataclass(frozen=True)
class Decision:
    """What the gates say of an audit."""

    gates: Gates
    found: Audit
    limit: FailAbove | None
    verdicts: list[Verdict]
    ratios: list[RatioVerdict]

    def print(self, out: Output, columns: Sequence[str]) -> bool:
        """Say it, with groups as the columns call them; return whether all gates are passed."""
        require, limit = self.gates.require, self.limit
        chance = self.gates.stops and not self.gates.allow_chance and not self.found.better_than_chance
        if chance:
            out.line(shown(words.failed_by_chance(self.found.statements, "--allow-chance")), "bad")
        named = [each.named(lambda group: words.name_of(group, columns)) for each in self.ratios]
        passed = print_verdicts(out, self.verdicts, require) & print_verdicts(out, named, require) and not chance
        if limit is not None and (limit.exceeded or not chance):
            worst, names = limit.worst, [words.name_of(each, columns) for each in limit.worst.pair]
            said = words.gate(worst.metric, names, worst.gap, limit.limit)
            out.line(shown(said), "bad" if limit.exceeded else "good")
            passed &= not limit.exceeded
        if self.gates.stops or self.ratios:
            answers = [*(each.answer for each in self.verdicts), *(each.answer for each in self.ratios)] or None
            tell("gate", passed=passed, chance=chance, gap=self.found.gap, verdict=answers)
        return passed


def _compared(found: Audit, limit: float, which: Guards | None) -> FailAbove:
    """Compare the gaps with the limit; a gap that cannot be measured is an error, not a pass."""
    looked_at = [*([found.ranking] if which != "top" else []), *(found.tops if which != "overall" else [])]
    if any(each.gap is None or not all(pair.known for pair in each.gaps) for each in looked_at):
        raise Failure(
            "--fail-above cannot be decided: a gap cannot be measured, as a group lacks rows of one outcome.\n"
            "Hint: run without --fail-above to see which; join small groups, or collect more rows."
        )
    gaps = []
    for each in looked_at:
        pair = max(each.gaps, key=lambda pair: pair.size).ranked
        gaps.append(GapSeen(words.gap_name(each.top), each.top, pair.size, (pair.first, pair.second)))
    worst = max(gaps, key=lambda each: each.gap)
    return FailAbove(limit, worst.gap > limit, worst, tuple(gaps))
