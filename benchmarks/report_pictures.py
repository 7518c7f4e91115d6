"""The pictures of docs/how-to/write-a-report.md: a screenshot of the report and a trade-off curve, from COMPAS by sex.

python benchmarks/report_pictures.py [--folder docs/images]

The repair is fitted on one half of the people and reported on the other; scores are out-of-fold. The screenshot needs
Playwright and Chromium. The data are looked for in the folder that FAIRPOT_DATA names, else in ../shared/data beside
the repository.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

from fairpot import FairPOT, FairScoreClassifier
from fairpot.datasets import fetch_compas
from fairpot.report import FairnessReport
from fairpot.tradeoff import auc_limit
from fairpot_paper.models import make_model

ROOT = Path(__file__).resolve().parents[1]
DATA_HOME = os.environ.get("FAIRPOT_DATA") or ROOT.parent / "shared" / "data"
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
OUTCOME = "a new offence within two years"


def scored():
    """Return out-of-fold scores of all people, their outcomes and their sex."""
    data = fetch_compas(data_home=DATA_HOME, download_if_missing=False)
    fair = FairScoreClassifier(make_model("xgboost", random_state=0, n_jobs=1), cv=5, random_state=0)
    fair.fit(data.data, data.target, sensitive_features=data.group)
    return np.asarray(fair.scores_), np.asarray(data.target), np.asarray(data.group, dtype=object)


def shoot(page: Path, picture: Path) -> None:
    """Take a picture of the top of a page."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=list(FLAGS))
        tab = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
        tab.goto(page.resolve().as_uri())
        tab.screenshot(path=picture)
        browser.close()


def draw(fp: FairPOT, held_out: tuple, picture: Path) -> None:
    """Draw the trade-off on held-out rows."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "fairpot"

    scores, y, sex = held_out
    limit = auc_limit(y, scores, sensitive_features=sex, ties="half")
    curve = fp.tradeoff(scores, y, sensitive_features=sex)
    axes = curve.plot(chosen=fp.strength_, limit=limit, max_gap=fp.max_gap)
    axes.set_title("COMPAS by sex, held-out half", fontsize="medium")
    axes.figure.savefig(picture, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description="Make the pictures of docs/how-to/write-a-report.md.")
    parser.add_argument("--folder", type=Path, default=ROOT / "docs" / "images")
    parser.add_argument("--page", type=Path, help="also keep the report here")
    options = parser.parse_args()
    scores, y, sex = scored()
    first = np.random.default_rng(0).random(len(y)) < 0.5
    rows = {"sensitive_features": sex[first], "high_score_means": "harm"}
    fp = FairPOT(max_gap=0.02).fit(scores[first], y[first], **rows)
    held_out = scores[~first], y[~first], sex[~first]
    draw(fp, held_out, options.folder / "tradeoff-compas.svg")
    report = FairnessReport.from_predictions(
        held_out[1],
        held_out[0],
        sensitive_features=held_out[2],
        method=fp,
        title="COMPAS risk scores by sex",
        source="compas-scores-two-years.csv, the half that the repair was not fitted on",
        outcome=OUTCOME,
        threshold=0.5,
    )
    with tempfile.TemporaryDirectory() as folder:
        page = report.save(options.page or Path(folder) / "report.html", overwrite=True)
        shoot(page, options.folder / "report-compas.png")
    print(f"pictures in {options.folder}")


if __name__ == "__main__":
    main()
