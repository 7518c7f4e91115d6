"""The page as a file: whole, closed to the outside, small, and safe against odd names."""

import html as html_module
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from display_cases import make_rows
from fairpot import FairPOT
from fairpot.report import FairnessReport

VOID = {"meta", "input"}


class Page(HTMLParser):
    """Check that every element is closed, and collect texts, tags and attributes."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.texts, self.seen = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, name, attributes):
        self.seen.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, text):
        if not {"script", "style"} & set(self.open):
            self.texts.append(text)


def data_of(html):
    [found] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    return json.loads(found)


@pytest.fixture(scope="module")
def html(report):
    return report.to_html()


def test_it_asks_nobody_for_anything(html):
    page = Page(html)
    assert not re.search(r"https?:", html.replace("http-equiv", ""))
    for name, attributes in page.seen:
        assert name not in {"link", "img", "iframe", "object", "embed", "form", "base"}
        assert not {"src", "srcset", "action", "style"} & set(attributes)
        assert not [key for key in attributes if key.startswith("on")]
        assert attributes.get("href", "#").startswith("#")


def test_policy_names_what_is_inside(html):
    import base64
    import hashlib

    [policy] = re.findall(r'Content-Security-Policy" content="(.*?)"', html)
    policy = html_module.unescape(policy)
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    for kind in ("style", "script"):
        [inside] = re.findall(rf"<{kind}>(.*?)</{kind}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_texts_follow_the_numbers(report, html, places):
    data = data_of(html)
    for place in places:
        numbers = report.content.dial.settings[place]
        said = data["texts"]["live"][place]
        assert f"AUC {numbers.all.auc:.3f}" in said
        assert f"{numbers.moved:,} scores changed" in said
    assert len(data["who"]["up"]) == len(data["texts"]["live"]) == len(report.content.dial.settings)


def test_every_moving_thing_is_on_the_page(html):
    data, page = data_of(html), Page(html)
    keys = {a["data-k"] for _, a in page.seen if "data-k" in a}
    assert keys == set(data["texts"])
    paths = {a["data-path"] for _, a in page.seen if "data-path" in a}
    marks = {a["data-mark"] for _, a in page.seen if "data-mark" in a}
    assert set(data["moving"]) <= paths | marks
    assert marks == {"tradeoff"}


def test_same_rows_same_bytes(fitted, html):
    again = FairnessReport(fitted.table_, fitted, title="A report", outcome="a stroke", threshold=0.5)
    assert again.to_html() == html


def test_the_named_threshold_is_shown_first(html):
    assert "score 0.5 and above</span>" in html
    assert "Who has a score of 0.5 or more?" in html


NAMES = [
    ("<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>"),
    ('"><svg onload=alert(1)>', "' onmouseover='alert(1)"),
    ("{lower}", "{0} %s"),
    ("\u202eright to left", "tab\tand\nline"),
    ("", " "),
    (1, 2),
]


@pytest.mark.parametrize("names", NAMES, ids=repr)
def test_odd_names_are_only_text(names):
    scores, y, group = make_rows(400, names)
    scores = scores.round(1)  # few settings: the names are what matters
    fp = FairPOT(0.5, ties="half").fit(scores, y, sensitive_features=group)
    report = FairnessReport(fp.table_, fp, title=str(names[0]), source=str(names[1]), outcome=str(names[0]))
    html = report.to_html()
    page = Page(html)
    assert {name for name, _ in page.seen} <= ALLOWED
    assert not [key for _, attributes in page.seen for key in attributes if key.startswith("on")]
    assert html.count("<script") == 2
    Page(f"<div>{report._repr_html_()}</div>")
    assert "<script" not in report._repr_html_()
    assert "<script" not in report.to_markdown()
    assert "<img" not in report.to_markdown()


ALLOWED = {
    *("html", "head", "meta", "title", "style", "script", "noscript", "body", "a", "header", "main", "section", "div"),
    *(
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "p",
        "span",
        "b",
        "strong",
        "code",
        "dl",
        "dt",
        "dd",
        "ul",
        "li",
        "details",
        "summary",
    ),
    *("table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("label", "input", "button", "output", "fieldset", "legend"),
    *("figure", "figcaption", "svg", "rect", "path", "circle", "text", "g"),
}


def odd_rows():
    scores, y, group = make_rows(500)
    few = group.copy()
    few[:4] = "tiny"
    one = group.copy()
    one[0] = "single"
    five = make_rows(900, ("a", "b", "c", "d", "e"))
    many = make_rows(1500, tuple(f"g{i:02d}" for i in range(13)), shift=0.01)
    flat = np.full(500, 0.5)
    yield "a tiny group", (scores, y, few)
    yield "a group of one row", (scores, y, one)
    yield "all ties", (flat, y, group)
    yield "far outside", (scores * 2e6 - 1e6, y, group)
    yield "tiny scores", (scores * 1e-12, y, group)
    yield "enormous scores", ((scores - 0.5) * 1e299, y, group)
    yield "five groups", five
    yield "many groups", many
    yield "one class", (scores, np.zeros(500, dtype=int), group)
    yield "two rows", (scores[:2], np.array([0, 1]), np.array(["F", "M"], dtype=object))


@pytest.mark.parametrize("case", list(odd_rows()), ids=lambda case: case[0])
@pytest.mark.filterwarnings("ignore::fairpot.exceptions.UndefinedMetricWarning")
def test_odd_data(case):
    scores, y, group = case[1]
    audit = FairnessReport.from_predictions(y, scores, sensitive_features=group)
    reference = sorted(set(group))[-1]
    fp = FairPOT(0.5, reference=reference, ties="half").fit(scores, y, sensitive_features=group)
    repaired = FairnessReport.from_predictions(y, scores, sensitive_features=group, method=fp)
    for report in (audit, repaired):
        html = report.to_html()
        Page(html)
        assert "NaN" not in json.dumps(data_of(html))
        assert "nan" not in "".join(Page(html).texts).lower().split()
        assert len(html) < 3_000_000
        json.loads(report.to_json())
        assert report.to_markdown()
        Page(f"<div>{report._repr_html_()}</div>")


def test_the_file_does_not_grow_with_the_rows():
    sizes = []
    for n in (2_000, 30_000):
        scores, y, group = make_rows(n)
        scores = scores + np.random.default_rng(0).random(n) * 1e-4  # all distinct
        fp = FairPOT(0.5, ties="half").fit(scores, y, sensitive_features=group)
        sizes.append(len(FairnessReport(fp.table_, fp).to_html()))
    assert max(sizes) < 1.15 * min(sizes)
    assert max(sizes) < 700_000


def test_nobody_is_named(fitted, rows):
    scores, y, group = rows
    plain = FairnessReport.from_predictions(y, scores, sensitive_features=group, method=fitted)
    assert "no person's row" in html_module.unescape(plain.to_html())


def test_files(tmp_path, report):
    for name in ("r.html", "r.json", "r.md"):
        assert report.save(tmp_path / name) == tmp_path / name
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.to_html()
    with pytest.raises(FileExistsError, match="already exists"):
        report.save(tmp_path / "r.html")
    report.save(tmp_path / "r.html", overwrite=True)
    with pytest.raises(ValueError, match=r"ends in none of them"):
        report.save(tmp_path / "r.pdf")


def test_what_is_no_table(rows):
    scores, y, group = rows
    with pytest.raises(TypeError, match="needs outcomes and scores"):
        FairnessReport(scores)
    table = FairPOT(0.5, reference="M").fit([0.1, 0.2], sensitive_features=["F", "M"]).table_
    with pytest.raises(ValueError, match="no labels"):
        FairnessReport(table)
    with pytest.raises(ValueError, match="threshold"):
        FairnessReport.from_predictions(y, scores, sensitive_features=group, threshold="high")
