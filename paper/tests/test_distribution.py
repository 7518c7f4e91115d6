"""fairpot-paper as a distribution: one version for both, its page inside, its command found by fairpot."""

from importlib.metadata import entry_points, metadata
from importlib.resources import files

import fairpot
import fairpot_paper
from fairpot.cli._app import ELSEWHERE, PLUGINS, app


def test_versions_go_together():
    assert fairpot_paper.__version__ == fairpot.__version__


def test_what_is_public():
    assert len(fairpot_paper.__all__) <= 20
    for name in fairpot_paper.__all__:
        assert getattr(fairpot_paper, name).__doc__
    assert "$matrix" in (files("fairpot_paper") / "templates" / "index.md").read_text(encoding="utf-8")


def test_fairpot_finds_the_command():
    [point] = entry_points(group=PLUGINS, name="reproduce")
    assert point.load() is app.get_command(None, "reproduce")
    assert point.dist.name == ELSEWHERE["reproduce"]
    assert metadata("fairpot-paper")["Summary"] == point.load().short_help
