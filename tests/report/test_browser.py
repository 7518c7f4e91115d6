"""The page in a real browser, with the network cut."""

import re

import numpy as np
import pytest

from display_cases import make_rows
from fairpot import FairPOT
from fairpot.metrics import auc, xauc
from fairpot.report import FairnessReport
from report_browser import PATIENCE, axe_source, start_browser


@pytest.fixture(scope="module")
def browser():
    driver, browser = start_browser()
    yield browser
    browser.close()
    driver.stop()


@pytest.fixture(scope="module")
def file(report, tmp_path_factory):
    return report.save(tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture(scope="module")
def visit(browser):
    """Open a file offline; when the test is over nothing must have been logged or asked for."""
    opened = []

    def open_file(path, **options):
        context = browser.new_context(offline=True, **{"viewport": {"width": 1200, "height": 900}} | options)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.logged, page.asked = [], []
        page.on("console", lambda message: page.logged.append(message.text))
        page.on("pageerror", lambda error: page.logged.append(str(error)))
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(path.as_uri())
        opened.append((context, page, path))
        return page

    yield open_file
    for context, page, path in opened:
        assert page.logged == []
        assert page.asked == [path.as_uri()]
        context.close()


@pytest.fixture(scope="module")
def page(visit, file):
    page = visit(file)
    open_all(page)
    return page


def shown(page):
    return page.locator("[data-k=live]").inner_text()


def open_all(page):
    """Open every part."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")


def test_the_keyboard_turns_the_dial(page, report):
    settings, chosen = report.content.dial.settings, report.content.dial.chosen
    assert f"AUC {settings[chosen].all.auc:.3f}" in shown(page)
    dial = page.locator("#dial")
    dial.focus()
    for key, place in (("ArrowRight", chosen + 1), ("ArrowLeft", chosen), ("Home", 0), ("End", len(settings) - 1)):
        page.keyboard.press(key)
        assert f"AUC {settings[place].all.auc:.3f}" in shown(page)
        assert f"{settings[place].moved:,} scores changed" in shown(page)
        assert dial.get_attribute("aria-valuetext") == page.locator("[data-k=setting]").inner_text()


def test_the_mouse_turns_the_dial(page, report):
    settings = report.content.dial.settings
    page.locator("#dial").scroll_into_view_if_needed()
    box = page.locator("#dial").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.35, box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()
    place = int(page.locator("#dial").input_value())
    assert 0.25 < place / len(settings) < 0.45
    assert f"Gap {settings[place].all.pair('M', 'F').signed_gap:.3f}" in shown(page)


def test_twenty_settings_say_what_python_says(page, report, rows, fitted):
    """Everything on the page that follows the dial, against rows transformed at that setting."""
    scores, y, group = rows
    values = [each.value for each in report.content.dial.settings]
    line = [each.threshold for each in report.content.lines].index(0.5)
    for place in np.linspace(0, len(values) - 1, 20).round().astype(int).tolist():
        page.locator("#dial").fill(str(place))
        new = scores if values[place] is None else fitted.at(values[place]).transform(scores, sensitive_features=group)
        texts = page.evaluate(READ)
        both = [xauc(y, new, sensitive_features=group, positive=g, negative=h) for g, h in ("FM", "MF")]
        expected = [auc(y, new), both[1] - both[0], 100 * both[0], 100 * both[1]]
        found = [float(cell.split()[0].strip("%")) for cell in texts["numbers"][:4]]
        setting = report.content.dial.settings[place].all
        pair = setting.pair("M", "F")
        for cell, each in zip(texts["numbers"], (setting.auc, pair.signed_gap, pair.xauc_second, pair.xauc_first)):
            low, high = (float(end) for end in re.findall(r"[-+]?[\d.]+", cell)[1:])
            scale = 100 if "%" in cell else 1
            assert (low, high) == pytest.approx((scale * each.low, scale * each.high), abs=5.01e-4 * scale)
        assert found == pytest.approx(expected, abs=0.0501)
        assert found[:2] == pytest.approx(expected[:2], abs=5.1e-4)
        assert texts["moved"] == f"{int((new != scores)[group == 'F'].sum()):,}"
        assert texts["dials"] == [str(place)] * 2
        for k, (name, outcome) in enumerate((("F", 1), ("F", 0), ("M", 1), ("M", 0))):
            own = (group == name) & (y == outcome)
            was, now = int((scores[own] >= 0.5).sum()), int((new[own] >= 0.5).sum())
            assert texts["above"][k] == [
                f"{own.sum():,}",
                f"{100 * was / own.sum():.0f}% {was:,}",
                f"{100 * now / own.sum():.0f}% {now:,}",
            ]
        for lane, name in zip(texts["lanes"], "FM"):
            was, now = (int((each[group == name] >= 0.5).sum()) for each in (scores, new))
            assert lane == f"{was:,} → {now:,} of {(group == name).sum():,}"
    assert page.locator("[data-question]").inner_text() == "Who has a score of 0.5 or more?"
    assert report.content.shown == line


READ = """() => {
  const texts = (selector) => Array.from(document.querySelectorAll(selector), (one) => one.textContent.trim());
  return {
    numbers: texts("[aria-labelledby=all-caption] tbody tr td:last-child"),
    moved: texts("[aria-labelledby=moves-caption] tbody tr td:nth-of-type(2)")[0],
    above: Array.from(document.querySelectorAll("table.who tbody tr"), (row) =>
      Array.from(row.querySelectorAll("td"), (cell) => cell.textContent.trim())),
    lanes: texts(".queue-lane p"),
    dials: Array.from(document.querySelectorAll("[data-dial]"), (one) => one.value),
  };
}"""


def test_the_queue_is_that_of_ranks_counted_by_hand(page, report, rows, fitted):
    """Each mark stands where its rows stand among all rows, and is bold if they cross the line, at any setting."""
    scores, y, group = rows
    values = [each.value for each in report.content.dial.settings]
    for place in (0, len(values) // 3, report.content.dial.chosen, len(values) - 1):
        page.locator("#dial").fill(str(place))
        new = scores if values[place] is None else fitted.at(values[place]).transform(scores, sensitive_features=group)
        drawn = page.evaluate(QUEUE)
        for lane, name in enumerate("FM"):
            expected = [*hand_marks(scores, new, (group == name) & (y == 1), 0.5, lane, group == name)]
            expected += hand_marks(scores, new, (group == name) & (y == 0), 0.5, lane, group == name)
            assert len(drawn[lane]) == len(expected) > 20
            for (was, now, bold, _), hand in zip(drawn[lane], expected):
                assert (was, now) == pytest.approx(hand[:2], abs=0.06)
                assert bold == hand[2]
            filled = [mark[3] for mark in drawn[lane]]
            assert sum(filled) == len(hand_marks(scores, new, (group == name) & (y == 1), 0.5, lane, group == name))


QUEUE = """() => Array.from(document.querySelectorAll(".queue-lane"), (lane) =>
  Array.from(lane.querySelectorAll("[data-go-mark]"), (go) => {
    const [, was, now] = go.getAttribute("d").match(/M\\S+ (\\S+)L\\S+ (\\S+)/);
    const dot = lane.querySelector(`[data-dot="now ${go.dataset.goMark}"]`);
    if (dot.getAttribute("cy") !== now) throw new Error("a line ends where its mark is not");
    return [Number(was), Number(now), go.classList.contains("cross"), dot.classList.contains("yes")];
  }))"""


def hand_marks(scores, new, own, threshold, lane, group):
    """Place marks by rows: sort those of a group and outcome, take the middle of equal parts, count who is higher."""
    size = max(1, round(own.sum() / (group.sum() / 30)))
    order = np.flatnonzero(own)[np.argsort(-scores[own], kind="stable")]
    found = []
    for j in range(size):
        at = (j + 0.5) * len(order) / size
        row = order[int(at)]
        inside = (at - (scores[own] > scores[row]).sum()) / (scores[own] == scores[row]).sum()
        places = [((s > s[row]).sum() + inside * (s == s[row]).sum()) / len(s) for s in (scores, new)]
        crosses = (scores[row] >= threshold) != (new[row] >= threshold)
        found.append((*(26 + np.sqrt(p) * (392 - 26) for p in places), bool(crosses)))
    return found


def test_gains_follow_the_dial_and_the_line(visit, tmp_path):
    """Where a high score harms, a group with fewer rows above the line gains, at any setting and any line."""
    scores, y, group = make_rows(600)
    fp = FairPOT(0.6).fit(scores.round(1), y, sensitive_features=group, high_score_means="harm")
    page = visit(FairnessReport(fp.table_, fp).save(tmp_path / "report.html"))
    open_all(page)
    seen = set()
    for place in range(int(page.locator("#dial").get_attribute("max")) + 1):
        page.locator("#dial").fill(str(place))
        for line in ("0", "9"):
            page.locator("#who-value").fill(line)
            for told in page.locator(".queue-lane p").all_inner_texts():
                was, now, way = re.fullmatch(r"([\d,]+) → ([\d,]+) of [\d,]*\d(.*)", told).groups()
                more = int(now.replace(",", "")) - int(was.replace(",", ""))
                assert way == ("" if not more else ", loses" if more > 0 else ", gains")
                seen.add(way)
    assert len(seen) == 3


def test_the_queue_is_downloaded_as_a_picture(page):
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as PNG").click()
    picture = waiting.value.path().read_bytes()
    assert waiting.value.suggested_filename == "a-report-queue.png"
    assert picture.startswith(b"\x89PNG")
    wide, tall = (int.from_bytes(picture[at : at + 4]) for at in (16, 20))
    assert wide >= 1000
    assert tall >= 800
    assert len(picture) > 20_000  # not a blank sheet


def test_the_picture_keeps_what_it_is_of(browser, tmp_path):
    """Title, source, date, badge, finding, doubt and setting are painted into it; the canvas tells what is written."""
    scores, y, group = make_rows(900, ("F", "women and men of a region with a long name"))
    kept = np.r_[np.flatnonzero(group != "F"), np.flatnonzero(group == "F")[:40]]
    fp = FairPOT(0.5).fit(scores[kept], y[kept], sensitive_features=group[kept])
    made = FairnessReport(fp.table_, fp, title="A title", source="rows.csv", created="2026-01-31")
    context = browser.new_context(offline=True, accept_downloads=True)
    context.add_init_script(
        """window.painted = [];
        const pen = CanvasRenderingContext2D.prototype, own = pen.fillText;
        pen.fillText = function (text, ...rest) { window.painted.push(text); own.call(this, text, ...rest); };"""
    )
    page = context.new_page()
    page.goto(made.save(tmp_path / "report.html").as_uri())
    page.locator("#dial").fill("3")
    with page.expect_download():
        page.get_by_role("button", name="Download as PNG").click()
    painted = " ".join(page.evaluate("window.painted"))
    setting = page.locator("[data-k=setting]").inner_text()
    for said in (
        "A title",
        "rows.csv",
        "2026-01-31",
        "Not checked on new rows",
        setting,
        page.locator("#finding").inner_text(),
        page.locator(".lead").inner_text(),
        "women and men of a",  # its name goes on in another line
        "place in the list (not linear)",
    ):
        assert said in painted
    assert "rows with the outcome in F" in painted
    context.close()


def test_a_click_on_the_curve_sets_the_dial(page, report):
    plot = page.locator(".plot[data-turn]")
    plot.scroll_into_view_if_needed()
    box = plot.locator("svg").bounding_box()
    marks = report.figures["tradeoff"].moving["tradeoff"]
    wanted = len(marks["cx"]) // 4
    page.mouse.click(
        box["x"] + marks["cx"][wanted] / 2 * box["width"] / 420,
        box["y"] + marks["cy"][wanted] / 2 * box["height"] / 290,
    )
    place = int(page.locator("#dial").input_value())
    near = [abs(marks[c][place] - marks[c][wanted]) for c in ("cx", "cy")]
    assert max(near) <= 3
    plot.focus()
    page.keyboard.press("ArrowRight")
    assert int(page.locator("#dial").input_value()) == place + 1
    assert page.locator("#tradeoff-reading").inner_text().endswith(shown(page))


def test_values_are_read_with_the_arrow_keys(page, report, rows, fitted):
    """Halfway along the cross-group curve, against the share of rows above that threshold."""
    page.get_by_role("button", name="Original").click()
    plot = page.locator("#roc .plot")
    plot.focus()
    page.keyboard.press("Home")
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    told = page.locator("#roc-reading").inner_text()
    scores, y, group = rows
    negatives = np.sort(scores[(group == "F") & (y == 0)])[::-1]
    cut = negatives[int(0.2 * len(negatives))]
    share = (scores[(group == "M") & (y == 1)] >= cut).mean()
    value = float(re.search(r"M over F: ([0-9.]+)", told)[1])
    assert "0.2;" in told
    assert value == pytest.approx(share, abs=0.02)


def test_lines_and_marks_move(page, report):
    page.locator("#dial").fill("0")
    line = page.locator("[data-path=positive-0]")
    first, mark = line.get_attribute("d"), page.locator("[data-mark=tradeoff]").get_attribute("cx")
    page.get_by_role("button", name="Smallest gap").click()
    settings = report.content.dial.settings
    best = min(range(len(settings)), key=lambda i: settings[i].all.gap)
    assert int(page.locator("#dial").input_value()) == best
    assert line.get_attribute("d") != first
    assert page.locator("[data-mark=tradeoff]").get_attribute("cx") != mark
    page.get_by_role("button", name="Original").click()
    assert line.get_attribute("d") == first


def test_what_the_script_draws_is_what_was_drawn(page, report):
    """The script's lines at the reported setting are those that stand in the file."""
    figures = report.figures
    page.locator("#dial").fill("0")
    page.locator("#dial").fill(str(report.content.dial.chosen))
    for name in ("positive-0", "map-0", "roc-0", "roc-1", "calibration-0"):
        drawn = page.locator(f"[data-path={name}]").get_attribute("d")
        made = figures["scores" if name.startswith("positive") else name.split("-")[0]]
        assert any(f'd="{drawn}"' in body for _, _, body in made.panels)


def test_thresholds_and_top_shares(page, report):
    found = report._measured
    label = page.locator("#who-label")
    page.get_by_label("the top of the list").check()
    assert label.inner_text() == "the top 10%"
    page.locator("#who-value").focus()
    page.keyboard.press("End")
    assert label.inner_text() == "the top 1%"
    assert page.locator("[data-question]").inner_text() == "Who is in the top 1% of the list?"
    row = page.locator("#who table").first.locator("tbody tr").first
    assert row.locator("td").nth(2).inner_text() == f"{found.above.rows[-1, 0, 0]:,.0f}"
    page.get_by_label("from a score up").check()
    assert label.inner_text() == "score 0.5 and above"


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (375, "dark")])
def test_accessible(visit, file, pytestconfig, scheme, width):
    source = axe_source(pytestconfig)
    page = visit(file, color_scheme=scheme, viewport={"width": width, "height": 800})
    open_all(page)
    page.evaluate(source)
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    faults = [(v["id"], v["impact"], v["nodes"][0]["html"][:120]) for v in found["violations"]]
    assert faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width  # nothing sticks out


def test_tab_reaches_every_control_in_order(visit, file):
    page = visit(file)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = []
    while "dial-bar" not in reached[:-1] and len(reached) < 20:
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.slice(0, 20)"))
    assert reached[:5] == ["png", "dial", "Original", "Smallest gap", "★ Reported"]
    assert reached[-2] == "dial-bar"
    assert reached[-1].startswith("What each repair")
    page.keyboard.press("Enter")
    assert page.locator("#tradeoff").get_attribute("open") is not None


def test_a_phone_has_room(visit, file):
    """Targets are 44 pixels; picture and dial are on one screen, of which the dial takes an eighth at most."""
    page = visit(file, viewport={"width": 390, "height": 844})
    open_all(page)
    small = page.evaluate(
        """() => Array.from(document.querySelectorAll("button, input[type=range], summary, .choose fieldset label"),
          (one) => [one.outerHTML.slice(0, 60), one.getBoundingClientRect().height]).filter((each) => each[1] < 44)"""
    )
    assert small == []
    page.locator("#numbers summary").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#numbers').scrollIntoView()")
    bar = page.locator(".bar-dial").bounding_box()
    assert bar["height"] <= 844 / 8
    heading = page.locator("#numbers summary h3").bounding_box()
    assert heading["y"] + heading["height"] <= bar["y"]
    assert bar["y"] + bar["height"] == 844
    page.evaluate("document.querySelector('#queue-title').scrollIntoView()")
    assert page.locator(".bar-dial").bounding_box() == bar
    lane = page.locator(".lane").last.bounding_box()
    assert lane["y"] + lane["height"] <= bar["y"]
    before = page.locator(".lane").first.inner_html()
    page.locator("#dial-bar").fill("0")
    assert page.locator(".lane").first.inner_html() != before
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


LETTERS = """() => Array.from(document.querySelectorAll("svg.lane, svg.chart"), (svg) => {
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  const size = (one) => scale * parseFloat(getComputedStyle(one).fontSize);
  return Array.from(svg.querySelectorAll("text"), (one) => [one.textContent, size(one)]);
}).flat()"""


@pytest.mark.parametrize("many", [2, 3, 8])
def test_pictures_have_letters_that_can_be_read_and_name_their_axes(visit, tmp_path, many):
    """12 pixels at least, whatever the width; charts are as wide as the page allows, and say what their axes are."""
    scores, y, group = make_rows(900, tuple("abcdefgh")[:many])
    fp = FairPOT(0.4, ties="half").fit(scores, y, sensitive_features=group)
    page = visit(FairnessReport(fp.table_, fp).save(tmp_path / "report.html"))
    open_all(page)
    for width in (320, 360, 390, 700, 1000, 1130, 1280, 1600):
        page.set_viewport_size({"width": width, "height": 900})
        small = [each for each in page.evaluate(LETTERS) if each[1] < 11.95]
        assert small == [], width
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.set_viewport_size({"width": 1280, "height": 900})
    told = page.locator("svg.lane").first.text_content()
    assert "(not linear)" in told
    for name, axes in (
        ("scores", ("score", "share of rows")),
        ("calibration", ("mean score", "share with the outcome")),
    ):
        for chart in page.locator(f"#{name} .multiples svg").all():
            assert set(axes) <= set(chart.locator("text.axis").all_text_contents())
            assert chart.bounding_box()["width"] > 380
    for figure in page.locator("figure.single").all():
        assert figure.bounding_box()["width"] > 1200
        assert figure.locator("svg").bounding_box()["width"] > 680
        assert figure.locator("text.axis").count() >= 2


def test_the_first_screen_is_the_first_screen(visit, file):
    """At 1280 x 800 finding, picture, gap, who, price and dial are in sight, and in this order."""
    page = visit(file, viewport={"width": 1280, "height": 800})
    boxes = [page.locator(name).first.bounding_box() for name in ("h1", "#finding", ".lead", "#queue")]
    assert [box["y"] for box in boxes] == sorted(box["y"] for box in boxes)
    panels = [page.locator(f"#{name}-title").bounding_box() for name in ("gap", "above", "cost", "turn")]
    assert [box["y"] for box in panels] == sorted(box["y"] for box in panels)
    assert page.locator("#dial").bounding_box()["y"] < 800
    assert page.locator(".badge").bounding_box()["y"] < boxes[1]["y"]


def test_eight_groups_with_long_names_leave_room_for_price_and_dial(visit, tmp_path):
    names = tuple(f"{letter} of a region with a long name that goes on" for letter in "abcdefgh")
    scores, y, group = make_rows(900, names)
    fp = FairPOT(0.4, ties="half").fit(scores, y, sensitive_features=group)
    report = FairnessReport(fp.table_, fp)
    page = visit(report.save(tmp_path / "report.html"), viewport={"width": 1280, "height": 800})
    for name in ("#cost-title", "#dial", "[data-go]", ".queue-lane:last-child svg"):
        box = page.locator(name).last.bounding_box()
        assert box["y"] + box["height"] <= 800, name
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


def test_descriptions_follow_the_dial_and_have_no_markup(page, report):
    for place in (0, len(report.content.dial.settings) - 1):
        page.locator("#dial").fill(str(place))
        alt = page.locator("#tradeoff-alt").inner_text()
        assert f"AUC {report.content.dial.settings[place].all.auc:.3f}." in alt
    labels = page.evaluate("Array.from(document.querySelectorAll('[aria-label]'), (one) => one.ariaLabel)")
    assert not [label for label in labels if "<" in label]


def test_without_script_it_shows_the_reported_setting(browser, file, report):
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    assert not page.locator("#dial").is_visible()
    assert f"AUC {report.content.chosen.all.auc:.3f}" in shown(page)
    context.close()


def test_it_prints(visit, file):
    page = visit(file)
    page.emulate_media(media="print")
    assert not page.locator("#dial").is_visible()
    assert page.locator("svg.lane").first.is_visible()
    told = page.locator("main").inner_text()
    assert "slider" not in told
    assert "arrow keys" not in told
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("kind", ["audit", "eight groups", "script names", "far outside"])
def test_other_reports_open_cleanly(visit, tmp_path, kind, pytestconfig):
    groups = {"eight groups": tuple("abcdefgh"), "script names": ("<script>x()</script>", "\"'><b>")}
    scores, y, group = make_rows(900, groups.get(kind, ("F", "M")))
    scores = scores * 1e7 - 5e6 if kind == "far outside" else scores
    fp = FairPOT(0.4, ties="half").fit(scores, y, sensitive_features=group)
    method = None if kind == "audit" else fp
    report = FairnessReport(fp.table_, method)
    page = visit(report.save(tmp_path / "report.html"), viewport={"width": 375, "height": 800})
    open_all(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.evaluate(axe_source(pytestconfig))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    assert [(v["id"], v["nodes"][0]["html"][:120]) for v in found["violations"]] == []
    if method is not None:
        page.locator("#dial").focus()
        page.keyboard.press("Home")
        assert f"AUC {report.audit.auc:.3f}" in shown(page)
    assert page.locator("script").count() == 2
