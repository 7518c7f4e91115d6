"""Build both distributions twice and compare them, check them, install them, and write down what is in them.

``make release`` runs it on the last commit. What comes of it is in ``dist/``: sdist and wheel of fairpot and
fairpot-paper, a CycloneDX list of what an installation of the wheel brings, and the SHA-256 of each file.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
PROJECTS = (".", "paper")
SMOKE = [
    ["--version"],
    ["--help"],
    ["help", "audit"],
    ["datasets", "write", "synthetic", "scores.csv"],
]

# What works with no extra installed.
WITHOUT_EXTRAS = """
import fairpot
from fairpot.datasets import make_synthetic

data = make_synthetic(2000, random_state=0, as_frame=False)
score, y, group = data.probability, data.target, data.group
repair = fairpot.FairPOT(max_gap=0.05).fit(score, y, sensitive_features=group)
repair.save("alone.json")
adjusted = fairpot.load("alone.json").transform(score, sensitive_features=group)
assert fairpot.audit(y, adjusted, sensitive_features=group).gap <= 0.05
"""


def run(*command: str | Path, **options: object) -> str:
    """Run a program that must work; return what it printed."""
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, check=False, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def committed(folder: Path) -> Path:
    """Unpack the last commit, and nothing else that may lie about."""
    packed = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def build(source: Path, out: Path, moment: str) -> None:
    """Build sdist and, from it, wheel of both distributions, as of a moment."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": moment, "PYTHONHASHSEED": "0"}
    for project in PROJECTS:
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", out, source / project]
        run(*command, env=environment, stderr=subprocess.STDOUT)
    for archive in out.glob("*.tar.gz"):
        repack(archive, int(moment))


def repack(path: Path, moment: int) -> None:
    """Write an sdist again in a fixed order, with one date and no owner: setuptools puts the present into it."""
    with tarfile.open(path) as archive:
        members = [(each, archive.extractfile(each)) for each in sorted(archive.getmembers(), key=lambda m: m.name)]
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as again:
            for member, content in members:
                member.mtime, member.uid, member.gid, member.uname, member.gname = moment, 0, 0, "", ""
                member.mode, member.pax_headers = 0o755 if member.isdir() or member.mode & 0o100 else 0o644, {}
                again.addfile(member, content)
    with path.open("wb") as raw, gzip.GzipFile("", "wb", fileobj=raw, mtime=moment) as stream:
        stream.write(packed.getvalue())


def hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def check_tags(version: str) -> None:
    """Refuse a commit that is tagged as another version."""
    tags = [tag for tag in run("git", "tag", "--points-at", "HEAD", cwd=ROOT).split() if tag.startswith("v")]
    if tags not in ([], [f"v{version}"]):
        sys.exit(f"the commit is tagged {', '.join(tags)}, and the version is {version}")


def built_twice(work: Path) -> None:
    """Build in two places and compare; the first goes to ``dist/``."""
    moment = run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    found = []
    for name in ("one", "another/and/longer"):
        out = work / name / "out"
        out.mkdir(parents=True)
        build(committed(work / name / "source"), out, moment)
        found.append(hashes(out))
    if found[0] != found[1]:
        sys.exit(f"two builds differ:\n{json.dumps(found, indent=1)}")
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.copytree(work / "one" / "out", DIST)
    print(f"built twice, {len(found[0])} files, the same bytes")


def checked() -> None:
    """Ask twine, check-wheel-contents and pyroma."""
    files = sorted(DIST.iterdir())
    tools = Path(sys.executable).parent
    run(tools / "twine", "check", "--strict", *files)
    for wheel in DIST.glob("*.whl"):
        run(tools / "check-wheel-contents", wheel)
    print("twine check --strict, check-wheel-contents: passed")
    for sdist in sorted(DIST.glob("*.tar.gz")):
        said = run(tools / "pyroma", "--min", "10", sdist, stderr=subprocess.STDOUT)
        print(f"pyroma, {sdist.name}: {re.search('Final rating: (.*)', said)[1]}")


def installed(work: Path, version: str) -> Path:
    """Install the wheels alone in a new environment and run every command there; return its Python."""
    run(sys.executable, "-m", "venv", "--without-pip", work / "env")
    python = work / "env" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    install += ["--find-links", DIST, "--constraint", ROOT / "constraints.txt"]
    away = work / "away"
    away.mkdir()
    bare = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "FAIRPOT_DATA")} | {"OMP_NUM_THREADS": "1"}
    run(*install, f"fairpot=={version}")
    run(python, "-c", WITHOUT_EXTRAS, cwd=away, env=bare)
    run(*install, f"fairpot[cli]=={version}")
    for line in SMOKE:
        run(work / "env" / "bin" / "fairpot", *line, cwd=away, env=bare)
    run(python, ROOT / "benchmarks" / "faults.py", "--trials", "0", cwd=away, env=bare)
    where = run(python, "-c", "import fairpot; print(fairpot.__file__)", cwd=away, env=bare).strip()
    if not where.startswith(str(work)):
        sys.exit(f"the wheel was not what ran, but {where}")
    print(f"the wheel alone: Python without extras, {len(SMOKE)} commands, benchmarks/faults.py twice, passed")
    return python


def described(python: Path, version: str) -> None:
    """List what the environment holds, in CycloneDX; no address may be in it."""
    target = DIST / f"fairpot-{version}.cdx.json"
    options = ["--pyproject", ROOT / "pyproject.toml", "--output-reproducible", "--output-format", "JSON"]
    run(Path(sys.executable).parent / "cyclonedx-py", "environment", python, *options, "--output-file", target)
    text = target.read_text()
    if "file:" in text or str(ROOT) in text:
        sys.exit(f"{target} names places on this machine")
    print(f"{target.name}: {len(json.loads(text)['components'])} components")


def tested(work: Path, version: str) -> None:
    """Run the core tests from the sdist, on the oldest versions that are declared."""
    with tarfile.open(DIST / f"fairpot-{version}.tar.gz") as archive:
        archive.extractall(work / "unpacked", filter="data")
    bare = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "MAKEFLAGS", "MAKELEVEL")}
    said = run("make", "-C", work / "unpacked" / f"fairpot-{version}", "minima", env=bare, stderr=subprocess.STDOUT)
    print(f"tests from the sdist (make minima): {said.strip().splitlines()[-2].strip('= ')}")


def main() -> None:
    """Do all of it, in this order."""
    os.umask(0o022)
    sys.path.insert(0, str(ROOT / "src"))
    from fairpot._version import __version__ as version

    check_tags(version)
    with tempfile.TemporaryDirectory(prefix="fairpot-release-") as place:
        work = Path(place)
        built_twice(work)
        checked()
        described(installed(work, version), version)
        tested(work, version)
    sums = "".join(f"{value}  {name}\n" for name, value in hashes(DIST).items())
    (DIST / "SHA256SUMS").write_text(sums)
    print(sums, end="")


if __name__ == "__main__":
    main()
