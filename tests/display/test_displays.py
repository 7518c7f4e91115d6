"""What every Display has in common."""

import itertools
from functools import cache

import numpy as np
import pytest

from display_cases import make_rows
from fairpot import FairPOT, audit, display, effect
from fairpot.display import (
    CrossRocDisplay,
    EstimatesDisplay,
    GroupCalibrationDisplay,
    ScoreDistributionDisplay,
    ScoreMapDisplay,
    TradeoffDisplay,
)
from fairpot.display.display import look

OF_TABLES = [CrossRocDisplay, GroupCalibrationDisplay, ScoreDistributionDisplay]
OF_ESTIMATORS = [*OF_TABLES, ScoreMapDisplay, TradeoffDisplay]


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


@pytest.mark.parametrize("kind", [*OF_TABLES, ScoreMapDisplay])
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


# Forty letters each.
LONG = [f"people of region {number:02} of the trust ......"[:40] for number in range(15)]


@cache
def long_names(many):
    scores, y, group = make_rows(400 * many, LONG[:many], shift=0.02)
    return FairPOT(0.5, ties="half").fit(scores, y, sensitive_features=group)


def drawn(axes):
    """Lay a picture out, and give its axes as a list."""
    panels = axes if isinstance(axes, list) else [axes]
    panels[0].figure.canvas.draw()
    return panels


def results_of(model):
    found = audit(model.table_)
    change = effect(model, model.table_)
    curve = model.tradeoff(lams=[0, 0.5, 1])
    return [found.plot, change.plot, change.actions[0].plot, model.plot, curve.plot, curve.band().plot]


@pytest.mark.parametrize("many", [2, 8])
def test_axes_keep_two_thirds_of_the_picture_whatever_the_names(many):
    model = long_names(many)
    made = [plot() for plot in results_of(model)]
    made += [kind.from_estimator(model).ax_ for kind in OF_ESTIMATORS]
    made += [kind.from_table(model.table_).ax_ for kind in OF_TABLES]
    for axes in made:
        panels = drawn(axes)
        name = panels[0].get_title(loc="left")
        assert name, axes
        assert sum(panel.get_position().width for panel in panels) >= 0.6, name
        assert min(panel.get_position().height for panel in panels) >= 0.4, name
        figure = panels[0].figure
        for panel in panels:
            box = panel.get_tightbbox()
            assert figure.bbox.x0 - 1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1, name
            assert figure.bbox.y0 - 1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1, name


@pytest.mark.parametrize("own_axes", [False, True])
@pytest.mark.parametrize("kind", [ScoreDistributionDisplay, GroupCalibrationDisplay, ScoreMapDisplay])
def test_a_long_legend_lies_below_the_picture_and_names_every_group(kind, own_axes):
    from matplotlib import pyplot as plt

    panels = 2 if kind in OF_TABLES else 1
    axes = plt.subplots(1, panels, figsize=(7 * panels, 8))[1] if own_axes else None
    shown = kind.from_estimator(long_names(15), ax=axes)
    shown.figure_.canvas.draw()
    panel = shown.ax_[-1] if panels == 2 else shown.ax_
    found = panel.get_legend() if own_axes else shown.figure_.legends[0]
    legend, box = found.get_window_extent(), panel.get_window_extent()
    assert legend.y1 <= box.y0
    assert legend.y0 >= -1
    assert legend.x1 <= shown.figure_.bbox.x1 + 1
    assert box.height > 0.3 * shown.figure_.bbox.height
    texts = [text.get_text().replace("\n", " ") for text in found.get_texts()]
    assert all(any(text.startswith(name) for text in texts) for name in LONG)


def test_what_is_left_out_is_said_in_the_picture():
    """Eight groups make 28 pairs, of which 20 fit; the frame has all."""
    shown = EstimatesDisplay.from_audit(audit(long_names(8).table_))
    assert shown.ax_.get_title(loc="left") == "Gap of every two groups, 20 of 28 pairs"
    assert len(shown.ax_.get_yticks()) == 20
    assert len(shown.frame()) == 28
    few = EstimatesDisplay.from_audit(audit(long_names(2).table_, alpha=0.3))
    assert few.ax_.get_title(loc="left") == "Gap in the top 30% of every two groups"
    both = EstimatesDisplay.from_effect(effect(long_names(8), long_names(8).table_))
    assert both.ax_.get_title(loc="left") == "Gap of every two groups, before and after, 20 of 28 pairs"


def test_gaps_are_those_of_the_audit_and_the_effect():
    model = long_names(3)
    change = effect(model, model.table_)
    shown = EstimatesDisplay.from_effect(change)
    for state, found in (("before", change.before), ("after", change.after)):
        rows = shown.where(state=state)
        gaps = {}
        for pair in found.ranking.gaps:
            gaps[f"{pair.first} over {pair.second}"] = pair.signed_gap
            gaps[f"{pair.second} over {pair.first}"] = pair.signed_gap.reversed()
        known = [gaps[label] for label in rows["label"]]
        assert rows["value"].tolist() == [float(gap) for gap in known]
        assert rows["low"].tolist() == [gap.low for gap in known]
        assert rows["high"].tolist() == [gap.high for gap in known]
    before = shown.where(state="before")["value"]
    assert (before >= 0).all()  # seen from the group that was ranked higher
    assert (np.diff(before) <= 0).all()


def test_long_names_are_whole_in_the_frame_and_cut_in_the_picture():
    names = [f"people who live in the {where} of the country, all ages" for where in ("north", "south")]
    scores, y, group = make_rows(400, names)
    shown = EstimatesDisplay.from_audit(audit(y, scores, sensitive_features=group))
    assert shown.values("label") == [f"{names[1]} over {names[0]}"]
    [told] = [text.get_text().replace("\n", " ") for text in shown.ax_.get_yticklabels()]
    assert len(told) <= 80
    roc = CrossRocDisplay.from_predictions(y, scores, sensitive_features=group)
    named = [text.get_text().partition(":")[0] for text in roc.ax_.get_legend().get_texts()]
    assert len(set(named)) == 4


def test_before_and_after_look_like_no_group():
    from matplotlib.colors import to_hex

    groups = {look(place)["color"] for place in range(40)}
    model = long_names(2)
    axes = EstimatesDisplay.from_effect(effect(model, model.table_)).ax_
    marks = [container.lines[0] for container in axes.containers]
    assert len({to_hex(mark.get_color()) for mark in marks}) == 2
    assert not {to_hex(mark.get_color()) for mark in marks} & groups
    before, after = ScoreDistributionDisplay.from_table(model.table_, model.maps_).ax_
    colours = [
        [to_hex(patch.get_edgecolor()) for patch in panel.patches if not patch.get_fill()] for panel in (before, after)
    ]
    assert colours[0] == colours[1]  # a group keeps its colour
    assert set(colours[0]) <= groups


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
