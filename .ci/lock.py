"""Write constraints-hashes.txt: every pin of constraints.txt with the SHA-256 of the file that pip takes here.

``make lock`` runs it; ``pip install --require-hashes --requirement constraints-hashes.txt`` then installs these
bytes or nothing. No address is in it: where packages come from is a matter of how pip is set up.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Ask pip what it would install, and write it down."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place) / "report.json"
        ask = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
        ask += ["--ignore-installed", "--no-deps", "--report", str(report)]
        subprocess.run([*ask, "--requirement", str(ROOT / "constraints.txt")], check=True)
        found = json.loads(report.read_text())["install"]
    lines = []
    for each in sorted(found, key=lambda one: one["metadata"]["name"].lower()):
        name, version = each["metadata"]["name"], each["metadata"]["version"].split("+")[0]
        sha256 = each["download_info"]["archive_info"]["hashes"]["sha256"]
        lines.append(f"{name}=={version} --hash=sha256:{sha256}\n")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    head = f"# Made by `make lock` from constraints.txt, for Python {version} on {sysconfig.get_platform()}.\n"
    (ROOT / "constraints-hashes.txt").write_text(head + "".join(lines))


if __name__ == "__main__":
    main()
