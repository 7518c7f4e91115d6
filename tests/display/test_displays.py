"""What every Display has in common."""

import itertools
from functools import cache

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
from fairpot.display.display import look

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
    made = kind.from_estimator(fitted).ax_
    panels = made if isinstance(made, list) else [made]
    for panel in panels:
        assert panel.get_xlabel()
        assert panel.lines or panel.patches
        panel.figure.canvas.draw()
    again = kind.from_estimator(fitted, ax=made).ax_  # in the axes it is given
    assert (again[0] if isinstance(again, list) else again).figure is panels[0].figure


# Every picture with names that matplotlib gives a meaning, with many groups, and with groups that are no texts.
ODD = [
    (kind, groups)
    for place, kind in enumerate(OF_ESTIMATORS)
    for groups in (("_hidden", "$x$ <script>"), tuple("abcdefghi"), ((1, 2), (True, False))[place % 2])
]


@cache
def fitted_on(groups):
    scores, y, group = make_rows(1500, groups, shift=0.03)
    return FairPOT(0.5, ties="half").fit(scores, y, sensitive_features=group)


@pytest.mark.parametrize(("kind", "groups"), ODD)
def test_odd_names_and_many_groups(kind, groups):
    made = kind.from_estimator(fitted_on(groups)).ax_
    (made[0] if isinstance(made, list) else made).figure.canvas.draw()


@pytest.mark.parametrize("kind", [k for k in OF_ESTIMATORS if k is not GroupCalibrationDisplay])
@pytest.mark.parametrize("scale", [1e-9, 1e5, -3.0])
def test_scores_of_any_scale(kind, scale, rows):
    scores, y, group = rows
    fp = FairPOT(0.5, ties="half", reference="M").fit(scores * scale, y, sensitive_features=group)
    made = kind.from_estimator(fp).ax_
    (made[0] if isinstance(made, list) else made).figure.canvas.draw()


@pytest.mark.parametrize("kind", OF_ESTIMATORS)
def test_all_scores_tied(kind):
    fp = FairPOT(0.5, reference="M").fit([0.5] * 4, [0, 1, 0, 1], sensitive_features=list("FFMM"))
    made = kind.from_estimator(fp).ax_
    (made[0] if isinstance(made, list) else made).figure.canvas.draw()


@pytest.mark.parametrize("kind", [*OF_TABLES, RankChangeDisplay, ScoreMapDisplay])
def test_a_group_of_one_row(kind):
    fp = FairPOT(0.5, reference="M").fit([0.2, 0.5, 0.4, 0.9], [0, 1, 1, 0], sensitive_features=list("FMMM"))
    made = kind.from_estimator(fp).ax_
    (made[0] if isinstance(made, list) else made).figure.canvas.draw()


def test_wrong_axes_are_named(fitted):
    from matplotlib import pyplot as plt

    with pytest.raises(ValueError, match="has 2 panels, and ax has 1"):
        ScoreDistributionDisplay.from_estimator(fitted, ax=plt.figure().add_subplot())


@pytest.mark.parametrize("kind", OF_ESTIMATORS)
def test_it_draws_at_once(kind, fitted):
    from matplotlib import pyplot as plt

    shown = kind.from_estimator(fitted)
    assert plt.get_fignums() == [shown.figure_.number]  # one figure, not two
    panels = shown.ax_ if isinstance(shown.ax_, list) else [shown.ax_]
    assert all(panel.figure is shown.figure_ and panel.has_data() for panel in panels)
    assert "\n" not in repr(shown)
    assert repr(shown).startswith(f"{kind.__name__}(")
    figure, axes = plt.subplots(1, len(panels))
    given = kind.from_estimator(fitted, ax=axes)
    assert given.figure_ is figure
    drawn_again = shown.plot()
    assert (drawn_again[0] if isinstance(drawn_again, list) else drawn_again).figure not in (figure, shown.figure_)
    assert len(plt.get_fignums()) == 3


@pytest.mark.parametrize("kind", [*OF_TABLES, ScoreMapDisplay])
def test_keywords_go_to_the_lines(kind, fitted):
    def widths(**style):
        shown = kind.from_estimator(fitted, **style)
        panel = shown.ax_[0] if isinstance(shown.ax_, list) else shown.ax_
        return {artist.get_linewidth() for artist in [*panel.lines, *panel.patches]}

    assert 7.5 not in widths()
    assert 7.5 in widths(linewidth=7.5)
    assert 7.5 in widths(lw=7.5)


def test_keywords_go_to_the_boxes(fitted):
    axes = RankChangeDisplay.from_estimator(fitted, facecolor="red").ax_
    assert {bar.get_facecolor()[:3] for bar in axes.patches} == {(1.0, 0.0, 0.0)}


# Machado, Oliveira and Fernandes (2009), full strength, on linear RGB: no red, no green, no blue cones.
SEEN_BY = {
    "all": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour, seen):
    """CIE L*a*b* of a colour as it is seen."""
    from matplotlib.colors import to_rgb

    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.asarray(seen) @ linear, 0, 1)
    to_xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    x, y, z = np.cbrt(to_xyz @ linear / [0.9505, 1.0, 1.089])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("seen", SEEN_BY)
def test_no_two_of_many_groups_look_alike(seen):
    looks = [look(place, marked=True) for place in range(40)]
    for key in ("linestyle", "marker"):
        assert len({(each["color"], each[key]) for each in looks}) == 40
        for first, second in itertools.combinations(looks[:16], 2):
            if first[key] == second[key]:  # then colour alone tells them apart, whoever looks
                apart = lab(first["color"], SEEN_BY[seen]) - lab(second["color"], SEEN_BY[seen])
                assert np.linalg.norm(apart) > 12


MANY = [f"region {number} of the trust" for number in range(15)]


@pytest.fixture(scope="module")
def many_groups():
    scores, y, group = make_rows(3000, MANY, shift=0.02)
    return FairPOT(0.5, ties="half").fit(scores, y, sensitive_features=group)


@pytest.mark.parametrize("own_axes", [False, True])
@pytest.mark.parametrize(
    "kind", [ScoreDistributionDisplay, GroupCalibrationDisplay, ScoreMapDisplay, RankChangeDisplay]
)
def test_a_long_legend_lies_beside_the_picture_and_inside_the_figure(kind, own_axes, many_groups):
    from matplotlib import pyplot as plt

    panels = 2 if kind in OF_TABLES else 1
    axes = plt.subplots(1, panels, figsize=(7 * panels, 5))[1] if own_axes else None
    shown = kind.from_estimator(many_groups, ax=axes)
    shown.plot(ax=shown.ax_)  # again into the same axes: the same place
    shown.figure_.canvas.draw()
    panel = shown.ax_[-1] if panels == 2 else shown.ax_
    legend, box = panel.get_legend().get_window_extent(), panel.get_window_extent()
    assert legend.x0 >= box.x1
    assert legend.x1 <= shown.figure_.bbox.x1 + 1
    assert legend.y0 >= 0
    assert box.width > 0.3 * shown.figure_.bbox.width / panels
    if kind is not RankChangeDisplay:
        texts = [text.get_text() for text in panel.get_legend().get_texts()]
        assert all(any(text.startswith(name) for text in texts) for name in MANY)


def test_the_box_is_explained(fitted):
    shown = RankChangeDisplay.from_estimator(fitted)
    texts = " ".join(text.get_text() for text in shown.ax_.get_legend().get_texts())
    for part in ("box: middle half", "line: median", "whiskers: middle 90%"):
        assert part in texts
    ends = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in shown.ax_.patches]
    np.testing.assert_allclose(ends, np.transpose([shown.columns["q25"], shown.columns["q75"]]))


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
