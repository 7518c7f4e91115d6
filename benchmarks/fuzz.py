"""Damaged and forged files against the readers, with a seed and a bound: ``python benchmarks/fuzz.py --seconds 120``.

Each round takes a good file, damages it (bits, cuts, repeats, numbers that lie), and gives it to a child process that
counts it, adjusts it and, for model files, loads it. A file may be refused with one of our errors, or read; then
counting and adjusting must see the same rows, and as many must be written as were read. Anything else (a signal,
another error, a leftover, an output after a refusal, a changed input) is a failure and its file is kept. Each file
also goes through the command line, ``audit`` or ``show``: it must end with 0 or 2, without a traceback, and
never with "this should not happen", which is counted by itself.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import subprocess
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

KINDS = ("csv", "csv.gz", "jsonl", "parquet", "arrow", "feather", "json")
ROWS = 60
_PIECES = [b'"', b"\0", b"\r", b"\n", b",", b"\xff", b"{", b"NaN", b"1e999", b"=1+1"]


def good_files(folder: Path, rng: random.Random) -> dict[str, bytes]:
    """Make one good file of each kind; ``json`` is a model file."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    from fairpot import FairPOT

    rows = [
        {"s": round(rng.random(), 3), "y": i % 2, "g": rng.choice("ab"), "n": rng.choice(["", "x", 'q"', "é\n"])}
        for i in range(ROWS)
    ]
    table = pa.Table.from_pylist(rows)
    text = "s,y,g,n\n" + "".join(f'{r["s"]},{r["y"]},{r["g"]},"{r["n"].replace(chr(34), chr(34) * 2)}"\n' for r in rows)
    made = {"csv": text.encode(), "csv.gz": gzip.compress(text.encode(), mtime=0)}
    made["jsonl"] = "".join(json.dumps(r) + "\n" for r in rows).encode()
    pa.parquet.write_table(table.append_column("d", table["g"].dictionary_encode()), folder / "x.parquet")
    pa.feather.write_feather(table, folder / "x.feather")
    with pa.OSFile(str(folder / "x.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=20)
    model = FairPOT(0.5, reference="a").fit([r["s"] for r in rows], sensitive_features=[r["g"] for r in rows])
    model.save(folder / "x.json")
    for kind in ("parquet", "feather", "arrow", "json"):
        made[kind] = (folder / f"x.{kind}").read_bytes()
        (folder / f"x.{kind}").unlink()
    return made


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Damage a file in one to four places."""
    content = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        place = rng.randrange(max(len(content), 1))
        way = rng.randrange(7)
        if way == 0:
            content[place : place + 1] = bytes([content[place] ^ (1 << rng.randrange(8))]) if content else b""
        elif way == 1:
            content[place : place + rng.randint(1, 8)] = rng.randbytes(rng.randint(1, 8))
        elif way == 2:
            del content[place:]
        elif way == 3:
            del content[place : place + rng.randint(1, 200)]
        elif way == 4:
            content[place:place] = content[place : place + rng.randint(1, 300)]
        elif way == 5:
            lie = rng.choice([0, -1, 2**31 - 1, -(2**31), 2**24, len(content)])
            content[place : place + 4] = (lie & 0xFFFFFFFF).to_bytes(4, "little")
        else:
            content[place:place] = rng.choice(
                [b'"', b"\0", b"\r", b"\n", b",", b"\xff", b"{", b"NaN", b"1e999", b"=1+1"]
            )
    return bytes(content)


def try_files(folder: Path) -> int:
    """Read every file of a folder; say for each what came of it."""
    import traceback
    import warnings

    from fairpot import load
    from fairpot.exceptions import InputFileError, ModelFileError, OutputFileError, UnseenGroupError
    from fairpot.rows import RowSource, apply, count_rows
    from fairpot.transport import ScoreMap

    warnings.simplefilter("ignore")
    ours = (InputFileError, ModelFileError, OutputFileError, UnseenGroupError, ValueError, TypeError)
    maps = {"a": ScoreMap.identity(), "b": ScoreMap([0, 1], [0.5, 1])}
    for path in sorted(folder.iterdir()):
        before = path.read_bytes()
        said = {}
        if path.name.endswith(".json"):
            acts = {"load": lambda path=path: load(path) and 1}
        else:
            source = RowSource(path, score="s", groups="g")
            target = folder.parent / f"out-{path.name}"
            acts = {
                "count": lambda source=source: count_rows(source, several=False).rows,
                "apply": lambda source=source, target=target: (
                    apply(maps, source, output=target, unknown_group="keep", missing_group="keep").rows
                ),
            }
        for name, act in acts.items():
            try:
                said[name] = act()
            except ours as error:
                said[name] = "refused"
                raised_in = traceback.extract_tb(error.__traceback__)[-1].filename
                if len(str(error)) > 2000:
                    said[name] = f"an error of {len(str(error))} characters"
                elif "fairpot" not in raised_in:
                    said[name] = f"{type(error).__name__} from {raised_in}: {str(error)[:200]}"
            except Exception as error:
                said[name] = f"{type(error).__name__}: {str(error)[:200]}"
        if wrong := command_said(path):
            said["the command line"] = wrong
        kept = folder.parent / f"out-{path.name}"
        if said.get("apply") == "refused" and kept.exists():
            said["apply"] = "an output after a refusal"
        kept.unlink(missing_ok=True)
        if path.read_bytes() != before:
            said["input"] = "was changed"
        print(json.dumps([path.name, said]), flush=True)
    return 0


_UNFORESEEN = "this should not happen"


def command_said(path: Path) -> str:
    """Run the command line on a file; return what is wrong with how it ended, or an empty text."""
    from fairpot.cli._app import app

    words = ["show", str(path)] if path.suffix == ".json" else ["audit", str(path), *_COLUMNS]
    code: object = None
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as errors:
        try:
            app.main(words)
        except SystemExit as ended:
            code = ended.code
    told = errors.getvalue()
    if _UNFORESEEN in told:
        return f"{_UNFORESEEN}: {told[:200]}"
    return f"ended with {code}: {told[-200:]}" if code not in (0, 2) or "Traceback" in told else ""


_COLUMNS = ("--score", "s", "--label", "y", "--group", "g")


def judged(said: dict[str, object]) -> str | None:
    """Return what is wrong with what came of a file; None if nothing is."""
    odd = [f"{name} {value}" for name, value in said.items() if value != "refused" and not isinstance(value, int)]
    if odd:
        return "; ".join(odd)
    numbers = {value for value in said.values() if isinstance(value, int)}
    return f"counting and adjusting saw {sorted(numbers)} rows" if len(numbers) > 1 else None


def run_round(files: dict[str, bytes]) -> dict[str, tuple[dict[str, object] | None, str | None]]:
    """Try some files in one child; those that came before a crash are told apart from the one that caused it."""
    outcomes: dict[str, tuple[dict[str, object] | None, str | None]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "in"
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        child = [sys.executable, __file__, "--try", str(folder)]
        done = subprocess.run(child, capture_output=True, text=True, check=False, timeout=600)
        for line in done.stdout.splitlines():
            name, said = json.loads(line)
            outcomes[name] = (said, judged(said))
        if done.returncode != 0:
            left = sorted(set(files) - set(outcomes))
            outcomes[left[0] if left else "end"] = (None, f"the process ended with {done.returncode}")
        extra = [p.name for p in Path(place).iterdir() if p.name != "in"]
        if extra:
            outcomes["leftovers"] = (None, f"left behind: {extra[:3]}")
    return outcomes


def fuzz(
    seed: int, seconds: float, most: int, keep: Path | None = None, kinds: tuple[str, ...] = KINDS
) -> tuple[int, int, list[str]]:
    """Try damaged files until the time or the number is up; return tried, refused and what failed."""
    rng, tried, refused, failures = random.Random(seed), 0, 0, []
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as place:
        originals = good_files(Path(place), rng)
    while tried < most and time.monotonic() < end:
        drawn = [rng.choice(kinds) for _ in range(min(150, most - tried))]
        files = {f"{tried + i:06d}.{kind}": damaged(originals[kind], rng) for i, kind in enumerate(drawn)}
        for name, (said, wrong) in run_round(files).items():
            refused += said is not None and "refused" in said.values()
            if wrong is not None:
                failures.append(f"{name}: {wrong}")
                if keep is not None and name in files:
                    keep.mkdir(exist_ok=True)
                    (keep / name).write_bytes(files[name])
        tried += len(files)
    return tried, refused, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--keep", type=Path, help="folder for the files that failed")
    parser.add_argument("--try", dest="one", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        return try_files(options.one)
    tried, refused, failures = fuzz(options.seed, options.seconds, options.files, options.keep, tuple(options.kinds))
    print(f"{tried} damaged files tried, {refused} refused, {tried - refused} read, {len(failures)} failures")
    print(f"{sum(_UNFORESEEN in each for each in failures)} exits of the command line with {_UNFORESEEN!r}")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
