"""What every picture has in common."""

import itertools
import subprocess
import sys
from functools import cache

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex

from display_cases import make_rows
from fairpot import FairPOT, audit, effect
from fairpot.display.axes import look


def pictures_of(model):
    """List what draws the results of a fitted model, by name."""
    curve = model.tradeoff(lams=[0, 0.5, 1])
    change = effect(model, model.table_)
    named = {"audit": audit(model.table_), "effect": change, "changes": change.changes, "maps": model}
    named |= {"scores": model.table_, "curve": curve}
    return {name: each.plot for name, each in named.items()}


NAMES = ["audit", "effect", "changes", "maps", "scores", "curve"]


@cache
def fitted_on(groups, scale=1.0):
    scores, y, group = make_rows(1500, groups, shift=0.03)
    return FairPOT(0.5, ties="half", reference=groups[-1]).fit(scores * scale, y, sensitive_features=group)


def drawn(axes):
    """Lay a picture out, and give its axes as a list."""
    panels = axes if isinstance(axes, list) else [axes]
    panels[0].figure.canvas.draw()
    return panels


@pytest.mark.parametrize("name", NAMES)
def test_it_draws_one_figure_or_into_the_axes_it_is_given(name, fitted):
    plot = pictures_of(fitted)[name]
    panels = drawn(plot())
    assert plt.get_fignums() == [panels[0].figure.number]
    for panel in panels:
        assert panel.get_title(loc="left")
        assert panel.has_data()
    figure, axes = plt.subplots(1, len(panels))
    again = drawn(plot(ax=axes))
    assert all(panel.figure is figure and panel.has_data() for panel in again)
    assert len(plt.get_fignums()) == 2


# Names that matplotlib gives a meaning, many groups, and groups that are no texts.
@pytest.mark.parametrize("groups", [("_hidden", "$x$ <script>"), tuple("abcdefghi"), (1, 2), (True, False)])
def test_odd_names_and_many_groups(groups):
    for plot in pictures_of(fitted_on(groups)).values():
        drawn(plot())


@pytest.mark.parametrize("scale", [1e-9, 1e5, -3.0])
def test_scores_of_any_scale(scale):
    for plot in pictures_of(fitted_on(("F", "M"), scale)).values():
        drawn(plot())


@pytest.mark.parametrize(
    ("scores", "y", "group"),
    [([0.5] * 4, [0, 1, 0, 1], "FFMM"), ([0.2, 0.5, 0.4, 0.9], [0, 1, 1, 0], "FMMM")],
    ids=["all scores tied", "a group of one row"],
)
def test_few_rows(scores, y, group):
    model = FairPOT(0.5, reference="M").fit(scores, y, sensitive_features=list(group))
    for result in (model, model.table_, audit(model.table_), effect(model, model.table_)):
        drawn(result.plot())


def test_wrong_axes_are_named(fitted):
    with pytest.raises(TypeError, match="one matplotlib axes, got ndarray"):
        fitted.tradeoff().plot(ax=plt.figure().subplots(1, 2))


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
    looks = [look(place) for place in range(40)]
    assert len({(each["color"], each["linestyle"]) for each in looks}) == 40
    for first, second in itertools.combinations(looks[:16], 2):
        if first["linestyle"] == second["linestyle"]:  # then colour alone tells them apart, whoever looks
            apart = lab(first["color"], SEEN_BY[seen]) - lab(second["color"], SEEN_BY[seen])
            assert np.linalg.norm(apart) > 12


# Forty letters each.
LONG = [f"people of top_of {number:02} of the trust ......"[:40] for number in range(15)]


@cache
def long_names(many):
    scores, y, group = make_rows(400 * many, LONG[:many], shift=0.02)
    return FairPOT(0.5, ties="half").fit(scores, y, sensitive_features=group)


@pytest.mark.parametrize("many", [2, 8])
def test_axes_keep_two_thirds_of_the_picture_whatever_the_names(many):
    for name, plot in pictures_of(long_names(many)).items():
        if name == "changes" and many > 2:  # one line for each of a hundred numbers, of which twenty are drawn
            continue
        panels = drawn(plot())
        assert sum(panel.get_position().width for panel in panels) >= 0.6, name
        assert min(panel.get_position().height for panel in panels) >= 0.4, name
        figure = panels[0].figure
        for panel in panels:
            box = panel.get_tightbbox()
            assert figure.bbox.x0 - 1 <= box.x0 <= box.x1 <= figure.bbox.x1 + 1, name
            assert figure.bbox.y0 - 1 <= box.y0 <= box.y1 <= figure.bbox.y1 + 1, name


@pytest.mark.parametrize("name", ["scores", "maps"])
def test_a_long_legend_lies_below_the_picture_and_names_every_group(name):
    model = long_names(15)
    panel = (model.table_ if name == "scores" else model).plot()
    figure = panel.figure
    figure.canvas.draw()
    [found] = figure.legends
    legend, box = found.get_window_extent(), panel.get_window_extent()
    assert legend.y1 <= box.y0
    assert legend.y0 >= -1
    assert legend.x1 <= figure.bbox.x1 + 1
    assert box.height > 0.3 * figure.bbox.height
    texts = [text.get_text().replace("\n", " ") for text in found.get_texts()]
    assert all(any(text.startswith(name) for text in texts) for name in LONG)


def test_what_is_left_out_is_said_in_the_picture():
    """Eight groups make 28 pairs, of which 20 fit; the frame has all."""
    found = audit(long_names(8).table_)
    axes = found.plot()
    assert axes.get_title(loc="left") == "Gap of every two groups, 20 of 28 pairs"
    assert len(axes.get_yticks()) == 20
    assert len(found.frame()) == 28
    few = audit(long_names(2).table_, top=0.3).plot()
    assert few.get_title(loc="left") == "Gap in the top 30% of every two groups"
    both = effect(long_names(8), long_names(8).table_).plot()
    assert both.get_title(loc="left") == "Gap of every two groups, before and after, 20 of 28 pairs"


def test_without_outcomes_the_picture_is_of_selection_rates():
    rng = np.random.default_rng(0)
    found = audit(None, rng.random(300), sensitive_features=rng.choice(["F", "M"], 300), threshold=0.4)
    axes = found.plot()
    assert (axes.get_title(loc="left"), axes.get_xlabel()) == ("Flagged at 0.4 or above", "selection rate")
    assert [each.get_text() for each in axes.get_yticklabels()] == ["F", "M"]
    rates = [float(each.value) for each in found.rates[0]["selection_rate"].groups]
    assert axes.containers[0][0].get_xdata().tolist() == rates
    models = audit(None, {"a": rng.random(300)}, sensitive_features=rng.choice(["F", "M"], 300))
    assert "a: selection rate of F" in [each.get_text() for each in models.plot().get_yticklabels()]
    assert repr(models) == "<Audits of 1 models: a>"


def test_gaps_are_those_of_the_audit_the_largest_first():
    found = audit(long_names(3).table_)
    [marks] = found.plot().containers
    expected = sorted((pair.ranked.signed_gap for pair in found.ranking.gaps), reverse=True)
    assert marks.lines[0].get_xdata().tolist() == [float(gap) for gap in expected]
    ends = [bar[:, 0].tolist() for bar in marks.lines[2][0].get_segments()]
    np.testing.assert_allclose(ends, [(gap.low, gap.high) for gap in expected])


def test_long_names_are_cut_in_the_picture():
    names = [f"people who live in the {where} of the country, all ages" for where in ("north", "south")]
    scores, y, group = make_rows(400, names)
    [told] = [each.get_text() for each in audit(y, scores, sensitive_features=group).plot().get_yticklabels()]
    assert len(told) <= 80


def test_before_and_after_look_like_no_group():
    groups = {look(place)["color"] for place in range(40)}
    model = long_names(2)
    marks = [container.lines[0] for container in effect(model, model.table_).plot().containers]
    assert len({to_hex(mark.get_color()) for mark in marks}) == 2
    assert not {to_hex(mark.get_color()) for mark in marks} & groups


def test_outcomes_are_needed():
    table = FairPOT(0.5, reference="M").fit([0.1, 0.2], sensitive_features=["F", "M"]).table_
    with pytest.raises(ValueError, match="no labels"):
        table.plot()


def test_matplotlib_is_loaded_only_to_draw():
    code = "import fairpot.display, sys; print('matplotlib' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
