"""The page in a real browser, with the network cut."""

import pytest

from display_cases import make_rows
from fairpot import FairPOT
from fairpot.report import FairnessReport
from report_browser import axe_source, start_browser


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
    return visit(file)


def shown(page):
    return page.locator(".dial output").inner_text()


def test_the_keyboard_turns_the_dial(page, report):
    settings, chosen = report.summary["dial"]["settings"], report.summary["dial"]["chosen"]
    assert f"AUC {settings[chosen]['auc']:.4f}" in shown(page)
    dial = page.locator("#dial")
    dial.focus()
    for key, place in (("ArrowRight", chosen + 1), ("ArrowLeft", chosen), ("Home", 0), ("End", len(settings) - 1)):
        page.keyboard.press(key)
        assert f"AUC {settings[place]['auc']:.4f}" in shown(page)
        assert f"{settings[place]['moved']:,} people" in shown(page)
        assert dial.get_attribute("aria-valuetext") == page.locator("[data-k=setting]").inner_text()


def test_the_mouse_turns_the_dial(page, report):
    settings = report.summary["dial"]["settings"]
    page.locator("#dial").scroll_into_view_if_needed()
    box = page.locator("#dial").bounding_box()
    page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.35, box["y"] + box["height"] / 2, steps=6)
    page.mouse.up()
    place = int(page.locator("#dial").input_value())
    assert 0.25 < place / len(settings) < 0.45
    assert f"Gap {100 * settings[place]['signed_gap']:.1f} points" in shown(page)


def test_ten_settings_say_what_python_says(page, report, places):
    """Everything on the page that follows the dial, against the numbers it was made from."""
    data, found = report.summary, report.measured
    for place in places:
        page.locator("#dial").fill(str(place))
        numbers = data["dial"]["settings"][place]
        rows = page.locator("table", has_text="Before and at this setting").locator("tbody tr")
        cells = [rows.nth(i).locator("td").nth(1).inner_text() for i in range(4)]
        expected = [numbers["auc"], numbers["signed_gap"], numbers["xauc_behind"], numbers["xauc_ahead"]]
        assert [float(cell) for cell in cells] == pytest.approx(expected, abs=5.1e-5)
        moves = page.locator("table", has_text="Scores that change").locator("tbody tr").nth(0)
        assert moves.locator("td").nth(1).inner_text() == f"{numbers['groups'][0]['moved']:,}"
        who = page.locator("table", has_text="People above the line").locator("tbody tr")
        k = int(page.locator("#who-value").input_value())
        setting = found.settings[place]
        for line, (g, label) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)]):
            said = [who.nth(line).locator("td").nth(i).inner_text() for i in range(2, 6)]
            was, up, down = found.above[k, g, label], setting.up[k, g, label], setting.down[k, g, label]
            assert said == [f"{v:,.0f}" for v in (was, was + up - down, up, down)]


def test_lines_and_marks_move(page, report):
    page.locator("#dial").fill("0")
    line = page.locator("[data-path=positive-0]")
    first, mark = line.get_attribute("d"), page.locator("[data-mark=tradeoff]").get_attribute("cx")
    page.get_by_role("button", name="Smallest gap").click()
    settings = report.summary["dial"]["settings"]
    best = min(range(len(settings)), key=lambda i: abs(settings[i]["signed_gap"]))
    assert int(page.locator("#dial").input_value()) == best
    assert line.get_attribute("d") != first
    assert page.locator("[data-mark=tradeoff]").get_attribute("cx") != mark
    page.get_by_role("button", name="As they came").click()
    assert line.get_attribute("d") == first


def test_what_the_script_draws_is_what_was_drawn(page, report):
    """The script's lines at the reported setting are those that stand in the file."""
    figures = report.figures
    page.locator("#dial").fill("0")
    page.locator("#dial").fill(str(report.summary["dial"]["chosen"]))
    for name in ("positive-0", "map-0", "roc-0", "roc-1", "calibration-0"):
        drawn = page.locator(f"[data-path={name}]").get_attribute("d")
        assert f'd="{drawn}"' in figures[name.split("-")[0]].svg


def test_thresholds_and_top_shares(page, report):
    found = report.measured
    label = page.locator("#who-label")
    page.get_by_label("the top share").check()
    assert label.inner_text() == "top 20 % of the ranking"
    page.locator("#who-value").focus()
    page.keyboard.press("End")
    assert label.inner_text() == "top 1 % of the ranking"
    row = page.locator("table", has_text="People above the line").locator("tbody tr").first
    assert row.locator("td").nth(2).inner_text() == f"{found.above[-1, 0, 0]:,.0f}"
    page.get_by_label("from a score up").check()
    assert label.inner_text() == "score 0.5 and above"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 375])
def test_accessible(visit, file, pytestconfig, scheme, width):
    source = axe_source(pytestconfig.cache.mkdir("axe-core"))
    page = visit(file, color_scheme=scheme, viewport={"width": width, "height": 800})
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
    for _ in range(12):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent.slice(0, 20)"))
    assert reached[0] == "dial"
    assert "who-value" in reached
    assert reached.index("dial") < reached.index("★ Reported") < reached.index("who-value")


def test_without_script_it_shows_the_reported_setting(browser, file, report):
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(file.as_uri())
    assert not page.locator("#dial").is_visible()
    assert f"AUC {report.summary['after']['auc']:.4f}" in shown(page)
    context.close()


def test_it_prints(visit, file):
    page = visit(file)
    page.emulate_media(media="print")
    assert not page.locator("#dial").is_visible()
    assert page.locator("svg.chart").first.is_visible()
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("kind", ["audit", "five groups", "script names", "far outside"])
def test_other_reports_open_cleanly(visit, tmp_path, kind, pytestconfig):
    groups = {"five groups": ("a", "b", "c", "d", "e"), "script names": ("<script>x()</script>", "\"'><b>")}
    scores, y, group = make_rows(900, groups.get(kind, ("F", "M")))
    scores = scores * 1e7 - 5e6 if kind == "far outside" else scores
    fp = FairPOT(0.4, ties="half").fit(scores, y, sensitive_features=group)
    method = None if kind == "audit" else fp
    report = FairnessReport.from_table(fp.table_, method)
    page = visit(report.save(tmp_path / "report.html"), viewport={"width": 375, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.evaluate(axe_source(pytestconfig.cache.mkdir("axe-core")))
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    assert [(v["id"], v["nodes"][0]["html"][:120]) for v in found["violations"]] == []
    if method is not None:
        page.locator("#dial").focus()
        page.keyboard.press("Home")
        assert f"AUC {report.summary['before']['auc']:.4f}" in shown(page)
    assert page.locator("script").count() == 2
