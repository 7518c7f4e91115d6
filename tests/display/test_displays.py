"""What every Display has in common."""

import numpy as np
import pytest

from display_cases import make_rows
from fairpot import FairPOT, display
from fairpot.display import (
    CrossRocDisplay,
    GroupCalibrationDisplay,
    PartialAucDisplay,
    RankChangeDisplay,
    ScoreDistributionDisplay,
    ScoreMapDisplay,
    TradeoffDisplay,
)

OF_TABLES = [CrossRocDisplay, GroupCalibrationDisplay, PartialAucDisplay, ScoreDistributionDisplay]
OF_ESTIMATORS = [*OF_TABLES, RankChangeDisplay, ScoreMapDisplay, TradeoffDisplay]


def same(first, second):
    assert list(first.columns) == list(second.columns)
    for name, column in first.columns.items():
        np.testing.assert_array_equal(column, second.columns[name])


@pytest.mark.parametrize("kind", OF_TABLES)
def test_rows_and_their_table_look_alike(kind, rows, fitted, table):
    scores, y, group = rows
    by_rows = kind.from_predictions(y, scores, sensitive_features=group, maps=fitted.maps_)
    same(by_rows, kind.from_table(table, fitted.maps_))
    same(by_rows, kind.from_estimator(fitted))
    same(by_rows, kind.from_estimator(fitted, scores, y, sensitive_features=group))
    assert by_rows.values("state") == ["before", "after"]
    assert kind.from_table(table).values("state") == ["before"]


@pytest.mark.parametrize("kind", OF_ESTIMATORS)
def test_the_frame_is_the_table_behind_the_picture(kind, fitted):
    shown = kind.from_estimator(fitted)
    frame = shown.frame()
    assert list(frame.columns) == list(shown.columns)
    assert len(frame) == len(next(iter(shown.columns.values()))) > 1


@pytest.mark.parametrize("kind", OF_ESTIMATORS)
def test_it_draws(kind, fitted):
    made = kind.from_estimator(fitted).plot()
    panels = made if isinstance(made, list) else [made]
    for panel in panels:
        assert panel.get_xlabel()
        assert panel.lines or panel.patches
        panel.figure.canvas.draw()
    again = kind.from_estimator(fitted).plot(ax=made)  # in the axes it is given
    assert (again[0] if isinstance(again, list) else again).figure is panels[0].figure


@pytest.mark.parametrize("kind", OF_ESTIMATORS)
@pytest.mark.parametrize(
    "groups", [("_hidden", "$x$ <script>"), ("a", "b", "c", "d", "e", "f", "g", "h", "i"), (1, 2), (True, False)]
)
def test_odd_names_and_many_groups(kind, groups):
    scores, y, group = make_rows(1500, groups, shift=0.03)
    fp = FairPOT(0.5, ties="half").fit(scores, y, sensitive_features=group)
    made = kind.from_estimator(fp).plot()
    (made[0] if isinstance(made, list) else made).figure.canvas.draw()


@pytest.mark.parametrize("kind", [k for k in OF_ESTIMATORS if k is not GroupCalibrationDisplay])
@pytest.mark.parametrize("scale", [1e-9, 1e5, -3.0])
def test_scores_of_any_scale(kind, scale, rows):
    scores, y, group = rows
    fp = FairPOT(0.5, ties="half", reference="M").fit(scores * scale, y, sensitive_features=group)
    made = kind.from_estimator(fp).plot()
    (made[0] if isinstance(made, list) else made).figure.canvas.draw()


@pytest.mark.parametrize("kind", OF_ESTIMATORS)
def test_all_scores_tied(kind):
    fp = FairPOT(0.5, reference="M").fit([0.5] * 4, [0, 1, 0, 1], sensitive_features=list("FFMM"))
    made = kind.from_estimator(fp).plot()
    (made[0] if isinstance(made, list) else made).figure.canvas.draw()


@pytest.mark.parametrize("kind", [*OF_TABLES, RankChangeDisplay, ScoreMapDisplay])
def test_a_group_of_one_row(kind):
    fp = FairPOT(0.5, reference="M").fit([0.2, 0.5, 0.4, 0.9], [0, 1, 1, 0], sensitive_features=list("FMMM"))
    made = kind.from_estimator(fp).plot()
    (made[0] if isinstance(made, list) else made).figure.canvas.draw()


def test_wrong_axes_are_named(fitted):
    from matplotlib import pyplot as plt

    with pytest.raises(ValueError, match="has 2 panels, and ax has 1"):
        ScoreDistributionDisplay.from_estimator(fitted).plot(ax=plt.figure().add_subplot())


def test_outcomes_are_needed():
    table = FairPOT(0.5, reference="M").fit([0.1, 0.2], sensitive_features=["F", "M"]).table_
    with pytest.raises(ValueError, match="no labels"):
        ScoreDistributionDisplay.from_table(table)


def test_an_estimator_without_its_rows_needs_some():
    with pytest.raises(ValueError, match="does not keep the rows"):
        ScoreMapDisplay.from_estimator(FairPOT())


def test_matplotlib_is_loaded_only_to_draw():
    import subprocess
    import sys

    code = "import fairpot.display, sys; print('matplotlib' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"


def test_names():
    assert all(getattr(display, name).__doc__ for name in display.__all__)
