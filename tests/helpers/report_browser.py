"""A real browser with the network cut, and an accessibility checker: each is had, or the tests that need it skip."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
AXE = "axe-core@4"
PATIENCE = 300_000  # milliseconds; it only ends a broken test


def start_browser():
    """Start Debian's Chromium by Playwright; return what to close afterwards, and the browser."""
    api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    found = [path for path in map(shutil.which, CHROMIUM) if path]
    if not found:
        pytest.skip(f"no browser: none of {', '.join(CHROMIUM)} is installed: apt-get install chromium")
    driver = api.sync_playwright().start()
    return driver, driver.chromium.launch(executable_path=found[0], args=list(FLAGS), timeout=PATIENCE)


def axe_source(config):
    """Return the checker's script, installed once: into pytest's cache, or where temporary files go."""
    known = getattr(config, "cache", None)
    folder = Path(tempfile.gettempdir()) / "fairpot-axe-core" if known is None else known.mkdir("axe-core")
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.is_file():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("npm is not installed, so there is no accessibility checker: apt-get install npm")
        command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), AXE]
        try:
            told = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False).stderr
        except subprocess.TimeoutExpired as error:
            told = str(error)
        if not script.is_file():
            pytest.skip(f"axe-core could not be installed: {told.strip()[-200:]}")
    return script.read_text(encoding="utf-8")
