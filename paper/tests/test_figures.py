"""Figures: what is drawn is what the columns say, the CSV beside it is what was drawn, and the bytes stay the same."""

import csv

import matplotlib
import numpy as np
import pytest
from PIL import Image

from fairpot.tradeoff import pareto_mask
from fairpot_paper.figures import (
    alpha_sheets,
    clinical_sheet,
    curve_sheets,
    direction_sheet,
    draw_all,
    pareto_sheet,
    partial_sheet,
    tradeoff_sheet,
    variants_sheet,
)
from fairpot_paper.plan import ALPHAS
from fairpot_paper.runs import DIALS
from fairpot_paper.sheets import ALPHA_KEYS, CURVE_KEYS, LOOKS, Rows

UNFITTED = ("unadjusted", "wasserstein", "limit", "xgboost")
METHODS = (*DIALS, "xgboost")
NUMBERS = ("dial", "n", "auc", "auc_sd", "gap", "gap_sd")


def made_up(data=("synthetic", "compas"), n=20, models=(("xgboost", ""), ("stacked_in", "pooled")), seed=0):
    """Columns as curve_columns writes them, with numbers out of the air."""
    rng = np.random.default_rng(seed)
    columns = {name: [] for name in (*CURVE_KEYS, *NUMBERS, "pareto")}
    for name in data:
        for model, region in models:
            for method in METHODS:
                if method == "xgboost" and not region:
                    continue
                for source in ("test",) if method in UNFITTED else ("in_sample", "crossfit"):
                    for ties in ("strict", "half"):
                        dial = DIALS.get(method, np.zeros(1))
                        auc, gap = rng.uniform(0.6, 0.8, len(dial)), rng.uniform(0.0, 0.3, len(dial))
                        if method == "optimal_merge":
                            gap = np.abs(np.linspace(-1.0, 1.0, len(dial)))
                        sd = 0.02 if n > 1 else float("nan")
                        mask = pareto_mask(gap, auc)
                        for row in zip(dial.tolist(), auc.tolist(), gap.tolist(), mask.tolist()):
                            key = (name, model, region, source, ties, method)
                            for column, value in zip(columns, (*key, row[0], n, row[1], sd, row[2], sd, row[3])):
                                columns[column].append(value)
    return columns


def made_up_alphas(data=("compas", "clinical"), n=20):
    columns = {name: [] for name in (*ALPHA_KEYS, "alpha", "n")}
    columns |= {f"{name}{end}": [] for name in ("auc", "xauc_ab", "xauc_ba") for end in ("", "_sd")}
    for name in data:
        models = ("xgboost", "network", "stacked_in", "stacked_out", "one", "retrained")
        for place, model in enumerate(models if name == "clinical" else models[:4]):
            for region in ("pooled", "group"):
                for alpha in ALPHAS:
                    level = 0.6 + 0.2 * alpha + 0.01 * place
                    sd = 0.01 if n > 1 else float("nan")
                    row = (name, model, region, "half", alpha, n, level, sd, level + 0.05, sd, level - 0.05, sd)
                    for column, value in zip(columns, row):
                        columns[column].append(value)
    return columns


def rows_of(columns):
    return Rows(columns, CURVE_KEYS)


def points(columns, **key):
    """The points of a key, found row by row."""
    places = [i for i in range(len(columns["auc"])) if all(columns[name][i] == value for name, value in key.items())]
    return np.array([(columns["gap"][i], columns["auc"][i]) for i in places])


def drawn_as(ax, method, marked=True):
    """The points of the line in a panel that has a method's colour and marker (or none)."""
    look = LOOKS[method]
    found = [
        line
        for line in ax.get_lines()
        if line.get_color() == look.colour and line.get_marker() == (look.marker if marked else "None")
        and (not marked or (line.get_markerfacecolor() != "none") == look.filled)
    ]  # fmt: skip
    assert len(found) == 1
    return np.column_stack(found[0].get_data())


def bars_in(ax):
    return [each for each in ax.containers if type(each).__name__ == "ErrorbarContainer"]


def test_fairpot_is_a_line_of_all_values_and_eleven_marks():
    columns = made_up()
    sheet = tradeoff_sheet(rows_of(columns), "xgboost", "half")
    for row, source in enumerate(("in_sample", "crossfit")):
        for column, data in enumerate(("synthetic", "compas")):
            where = {"data": data, "model": "xgboost", "source": source, "ties": "half", "method": "fairpot"}
            ax, curve = sheet.axes[row, column], points(columns, **where)
            assert len(curve) == 101
            np.testing.assert_array_equal(drawn_as(ax, "fairpot", marked=False), curve)
            np.testing.assert_array_equal(drawn_as(ax, "fairpot"), curve[::10])


def test_the_other_methods_of_a_panel():
    columns = made_up()
    ax = tradeoff_sheet(rows_of(columns), "xgboost", "strict").axes[1, 0]
    where = {"data": "synthetic", "model": "xgboost", "ties": "strict"}
    for method in ("xorder", "post_logit", "fairpot_boundary"):
        expected = points(columns, **where, source="crossfit", method=method)
        np.testing.assert_array_equal(drawn_as(ax, method), expected)
    geodesic = points(columns, **where, method="wasserstein")
    np.testing.assert_array_equal(drawn_as(ax, "wasserstein", marked=False), geodesic)
    np.testing.assert_array_equal(drawn_as(ax, "wasserstein"), geodesic[-1:])
    np.testing.assert_array_equal(drawn_as(ax, "unadjusted"), points(columns, **where, method="unadjusted"))
    # The limit is drawn over the bound on the gap, not over the gap at which it is reached.
    limit = drawn_as(ax, "limit", marked=False)
    np.testing.assert_array_equal(limit[:, 1], points(columns, **where, method="limit")[: len(limit), 1])
    np.testing.assert_array_equal(limit[:, 0], DIALS["limit"][: len(limit)])


def test_long_tails_do_not_choose_the_limits():
    ax = tradeoff_sheet(rows_of(made_up()), "xgboost", "half").axes[0, 0]
    assert ax.get_xlim()[1] < 0.4  # the methods' gaps end at 0.3, those of OptimalMerge at 1
    merged = drawn_as(ax, "optimal_merge", marked=False)
    assert 0 < len(merged) < 121
    assert merged[:, 0].max() <= ax.get_xlim()[1]


def test_a_limit_above_the_panel_is_given_in_words():
    columns = made_up(("compas",))
    for place, method in enumerate(columns["method"]):
        if method == "limit":
            columns["auc"][place] = 0.9569
    ax = tradeoff_sheet(rows_of(columns), "xgboost", "half").axes[0, 0]
    assert [text.get_text() for text in ax.texts] == ["↑ limit ≥ 0.956"]


def test_partial_panels_show_both_unadjusted_models_and_name_alpha():
    columns = made_up(("compas", "clinical"))
    sheet = partial_sheet(rows_of(columns), "pooled", "half")
    assert [ax.get_title() for ax in sheet.axes[0]] == ["COMPAS\nα = 0.3", "Clinical (simulated)\nα = 0.1"]
    where = {"data": "compas", "region": "pooled", "ties": "half", "source": "test"}
    for method in ("xgboost", "unadjusted"):
        found = [line for line in sheet.axes[0, 0].get_lines() if line.get_marker() == LOOKS[method].marker]
        [line] = [line for line in found if line.get_color() == LOOKS[method].colour]
        np.testing.assert_array_equal(np.column_stack(line.get_data()), points(columns, **where, method=method))
    assert partial_sheet(rows_of(columns), "group", "half") is None


def test_bars_are_standard_deviations():
    columns = made_up(("compas",))
    sheet = tradeoff_sheet(rows_of(columns), "xgboost", "half", bars=True)
    bars = bars_in(sheet.axes[0, 0])
    assert len(bars) == 5
    assert "Bars: one standard deviation" in sheet.figure.texts[-1].get_text().replace("\n", " ")
    for each in bars:
        for lines in each.lines[2]:
            for segment in lines.get_segments():
                assert np.abs(np.diff(segment, axis=0)).max() == pytest.approx(0.04)


def test_a_point_far_out_is_named_instead_of_squeezing_the_panel():
    columns = made_up(("compas",))
    far = [k for k, method in enumerate(columns["method"]) if method == "post_logit"]
    for k in far:
        columns["gap"][k], columns["auc"][k] = 2.5, 0.123
    ax = tradeoff_sheet(rows_of(columns), "xgboost", "half").axes[0, 0]
    assert ax.get_xlim()[1] < 1
    assert any("Post-logit: 2.50, 0.123" in text.get_text() for text in ax.texts)
    near = tradeoff_sheet(rows_of(made_up(("compas",))), "xgboost", "half").axes[0, 0]
    assert not any("outside" in text.get_text() for text in near.texts)


def test_one_seed_has_no_bars():
    sheet = tradeoff_sheet(rows_of(made_up(("compas",), n=1)), "xgboost", "half", bars=True)
    assert not any(bars_in(ax) for ax in sheet.axes.ravel())
    footer = sheet.figure.texts[-1].get_text().replace("\n", " ")
    assert footer.startswith("Means over 1 seed. Ties: half")
    sheet = clinical_sheet(Rows(made_up_alphas(n=1), ALPHA_KEYS), "half")
    assert not any(bars_in(ax) for ax in sheet.axes.ravel())


def test_direction_has_both_groups_moved():
    columns = made_up(("compas",))
    sheet = direction_sheet(rows_of(columns), "half")
    where = {"data": "compas", "model": "xgboost", "source": "crossfit", "ties": "half"}
    np.testing.assert_array_equal(
        drawn_as(sheet.axes[1, 0], "fairpot"), points(columns, **where, method="fairpot")[::10]
    )
    switched = points(columns, **where, method="fairpot_switched")
    np.testing.assert_array_equal(drawn_as(sheet.axes[1, 0], "fairpot_switched"), switched[::10])


def beaten(point, others):
    """Whether another point is as good in both and better in one."""
    return any(g <= point[0] and a >= point[1] and (g, a) != tuple(point) for g, a in others)


def test_the_frontier_is_among_the_papers_values():
    columns = made_up(("compas",))
    sheet = pareto_sheet(rows_of(columns), "half")
    for row, source in enumerate(("in_sample", "crossfit")):
        for method, step in (("fairpot", 10), ("xorder", 1)):
            where = {"data": "compas", "model": "xgboost", "source": source, "ties": "half", "method": method}
            paper = points(columns, **where)[::step]
            best = np.array(sorted(tuple(each) for each in paper if not beaten(each, paper)))
            np.testing.assert_array_equal(drawn_as(sheet.axes[row, 0], method), best)


def test_missing_data_sets_and_numbers():
    columns = made_up(("compas",))
    place = next(i for i, method in enumerate(columns["method"]) if method == "xorder" and columns["ties"][i] == "half")
    columns["auc"][place] = columns["gap"][place] = columns["auc_sd"][place] = columns["gap_sd"][place] = float("nan")
    for i, method in enumerate(columns["method"]):
        if method in ("post_logit", "wasserstein"):
            columns["auc"][i] = columns["gap"][i] = float("nan")
    for bars in (False, True):
        sheet = tradeoff_sheet(rows_of(columns), "xgboost", "half", bars)
        assert sheet.axes.shape == (2, 1)
        assert len(drawn_as(sheet.axes[0, 0], "xorder")) == 10
        assert place not in sheet.drawn
        labels = [text.get_text() for text in sheet.figure.legends[0].get_texts()]
        assert "Post-logit" not in labels
        assert not [label for label in labels if label.startswith("Wasserstein")]
    assert tradeoff_sheet(rows_of(columns), "random_forest", "half") is None
    assert draw_all({}, {}, "never made") == []


def test_a_source_that_is_missing_leaves_what_is_not_fitted():
    columns = made_up(("compas",))
    kept = [i for i, source in enumerate(columns["source"]) if source != "crossfit"]
    sheet = tradeoff_sheet(
        rows_of({name: [values[i] for i in kept] for name, values in columns.items()}), "xgboost", "half"
    )
    assert len(drawn_as(sheet.axes[0, 0], "fairpot")) == 11
    assert len(drawn_as(sheet.axes[1, 0], "unadjusted")) == 1


def test_the_order_of_rows_does_not_matter():
    columns = made_up(("compas",))
    order = np.random.default_rng(1).permutation(len(columns["auc"]))
    mixed = {name: [values[i] for i in order] for name, values in columns.items()}
    first, second = (tradeoff_sheet(rows_of(each), "xgboost", "half").axes[0, 0] for each in (columns, mixed))
    for one, other in zip(first.get_lines(), second.get_lines(), strict=True):
        np.testing.assert_array_equal(one.get_data(), other.get_data())


def test_footer_names_repetitions_ties_and_source():
    columns = made_up(("compas", "clinical"))
    sheet = tradeoff_sheet(rows_of(columns), "xgboost", "strict")
    footer = sheet.figure.texts[-1].get_text().replace("\n", " ")
    assert "20 seeds (COMPAS), 20 resamples of the test rows (Clinical (simulated))" in footer
    assert "Ties: strict" in footer
    assert "in-sample" in footer
    assert "cross-fitted" in footer


def test_alpha_panels():
    columns = made_up_alphas()
    rows = Rows(columns, ALPHA_KEYS)
    left, right = clinical_sheet(rows, "half").axes[0]
    pooled = rows.at("clinical", "retrained", "pooled", "half")
    expected = np.array([(columns["alpha"][i], columns["auc"][i]) for i in pooled])
    lines = [line for line in left.get_lines() if len(line.get_xdata()) == len(ALPHAS) and line.get_marker() == "D"]
    np.testing.assert_array_equal(np.column_stack(lines[0].get_data()), expected)
    assert len([line for line in right.get_lines() if line.get_marker() in ("s", "o", "D")]) == 6
    assert len(bars_in(left)) == 3
    assert len(bars_in(right)) == 6
    sheet = variants_sheet(rows, "half")
    assert [ax.get_title() for ax in sheet.axes[0]] == ["COMPAS", "Clinical (simulated)"]
    assert [len([line for line in ax.get_lines() if line.get_marker() in "so^D"]) for ax in sheet.axes[0]] == [4, 4]
    assert [name for name, _ in alpha_sheets(Rows(made_up_alphas(("compas",)), ALPHA_KEYS), "half")] == [
        "alpha-all-half"
    ]


def read(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_files_are_the_same_each_time_and_hold_the_rows_drawn(tmp_path):
    curves, alphas = made_up(("compas",), models=(("xgboost", ""),)), made_up_alphas(("compas",))
    first, second = (draw_all(curves, alphas, tmp_path / name, ["half"]) for name in ("one", "two"))
    names = ["tradeoff-xgboost-half", "direction-half", "tradeoff-xgboost-half-sd", "direction-half-sd"]
    names += ["pareto-half", "alpha-all-half"]
    assert [path.name for path in first] == [f"{name}.{kind}" for name in names for kind in ("svg", "png", "csv")]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes(), one.name
    sheets = dict(curve_sheets(rows_of(curves), "half"))
    for name, sheet in sheets.items():
        written = read(tmp_path / "one" / f"{name}.csv")
        drawn = [
            {key: "" if values[i] != values[i] else str(values[i]) for key, values in curves.items()}
            for i in sheet.drawn
        ]
        assert written == drawn
        lines = [line for ax in sheet.axes.ravel() for line in ax.get_lines()]
        in_panels = {(x, y) for line in lines for x, y in zip(*line.get_data())}
        limit = [row for row in written if row["method"] == "limit"]
        told = {(float(row["dial" if row in limit else "gap"]), float(row["auc"])) for row in written}
        assert told == in_panels
    assert all(row["pareto"] == "True" for row in read(tmp_path / "one" / "pareto-half.csv"))
    with Image.open(tmp_path / "one" / "pareto-half.png") as image:
        assert "Software" not in image.info
        assert image.info["dpi"] == pytest.approx((150, 150), abs=0.1)


def test_matplotlib_is_left_as_it_was(tmp_path):
    matplotlib.rcParams["lines.linewidth"], before = 7.0, matplotlib.rcParams["lines.linewidth"]
    try:
        then = dict(matplotlib.rcParams)
        sheet = direction_sheet(rows_of(made_up(("compas",))), "half")
        own = sheet.save(tmp_path, "own")[0].read_bytes()
        assert dict(matplotlib.rcParams) == then
    finally:
        matplotlib.rcParams["lines.linewidth"] = before
    assert direction_sheet(rows_of(made_up(("compas",))), "half").save(tmp_path, "default")[0].read_bytes() == own
