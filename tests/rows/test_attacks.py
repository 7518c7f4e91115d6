"""Files from strangers: no crash, no lost row, no other file read or written, nothing of the rows in an error."""

import csv
import gzip
import hashlib
import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import fairpot
from cli.conftest import make_runner
from fairpot.cli._app import app
from fairpot.exceptions import InputFileError, OutputFileError
from fairpot.modelfile.files import checksum
from fairpot.rows import RowSource, apply, count_rows
from fairpot.rows.output import complete_file, remove_leftovers
from fairpot.rows.readers.duckdb import DuckDBScan
from fairpot.rows.streams import MAX_LINE
from fairpot.transport import ScoreMap

MAPS = {"a": ScoreMap.identity(), "b": ScoreMap([0, 1], [0.5, 1])}
COLUMNS = {"score": "s", "group": "g"}


def rows(n=1000):
    return pd.DataFrame({"s": np.arange(n) / n, "g": ["a", "b"] * (n // 2), "note": "x"})


def ways(path, target):
    """Every way to read a file: counting, adjusting, adjusting with a record of changes or a bar."""
    source = RowSource(path, score="s", groups="g")
    yield "count", lambda: count_rows(source).rows
    yield "apply", lambda: apply(MAPS, source, output=target, overwrite=True).rows
    changes = target.with_name("changes.csv")
    yield "changes", lambda: apply(MAPS, source, output=target, overwrite=True, changes=changes).rows
    yield "bar", lambda: apply(MAPS, source, output=target, overwrite=True, progress=lambda *_: None).rows


def refused(path, tmp_path, message):
    before = sorted(tmp_path.iterdir())
    for _, act in ways(path, tmp_path / f"out{''.join(path.suffixes)}"):
        with pytest.raises(InputFileError, match=message):
            act()
    assert sorted(tmp_path.iterdir()) == before


class TestArrow:
    """Offsets, codes and lengths that lead out of the file's own bytes."""

    def forged(self, column, buffer, values):
        """Return a batch whose buffer holds what it should not."""
        buffers = column.buffers()
        buffers[buffer] = pa.py_buffer(values)
        return pa.Array.from_buffers(column.type, len(column), buffers)

    def write(self, path, arrays):
        batch = pa.RecordBatch.from_arrays(arrays, ["s", "g"])
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)

    @pytest.mark.parametrize("last", [8_000_000, -5])
    def test_offsets_out_of_bounds(self, tmp_path, last):
        self.write(tmp_path / "x.arrow", [pa.array([0.1, 0.2, 0.3, 0.4, 0.5]), pa.array(["a", "b", "a", "b", "a"])])
        honest = (tmp_path / "x.arrow").read_bytes()
        offsets = struct.pack("<6i", 0, 1, 2, 3, 4, 5)
        assert honest.count(offsets) == 1
        (tmp_path / "x.arrow").write_bytes(honest.replace(offsets, struct.pack("<6i", 0, 1, 2, 3, 4, last)))
        refused(tmp_path / "x.arrow", tmp_path, r"(?i)offset|length")

    def test_codes_out_of_bounds(self, tmp_path):
        coded = pa.array(["a", "b"]).dictionary_encode()
        codes = pa.Array.from_buffers(pa.int32(), 2, [None, pa.py_buffer(struct.pack("<2i", 0, 99_999_999))])
        groups = pa.DictionaryArray.from_arrays(codes, coded.dictionary, safe=False)
        self.write(tmp_path / "x.arrow", [pa.array([0.1, 0.2]), groups])
        refused(tmp_path / "x.arrow", tmp_path, "(?i)indices|index")

    def test_text_that_is_none(self, tmp_path):
        groups = self.forged(pa.array(["a", "b"]), 2, b"\xff\xfe")
        self.write(tmp_path / "x.arrow", [pa.array([0.1, 0.2]), groups])
        refused(tmp_path / "x.arrow", tmp_path, "(?i)utf")

    def test_cut_while_it_is_read(self, tmp_path):
        """A mapped file that becomes shorter would be the end of the process."""
        frame = pa.Table.from_pandas(rows(400_000), preserve_index=False)
        pa.feather.write_feather(frame, tmp_path / "x.feather", compression="uncompressed", chunksize=50_000)
        code = """
import os, sys
from fairpot.rows.formats import arrow
from pathlib import Path
path = Path(sys.argv[1])
found = arrow.read(path)
next(found)
os.truncate(path, 5000)
try:
    print(sum(batch.num_rows for batch in found))
except Exception as error:
    print("refused", type(error).__name__)
"""
        done = subprocess.run([sys.executable, "-c", code, tmp_path / "x.feather"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("refused")


class TestQuotes:
    """A stray quote swallows what follows it."""

    @pytest.mark.parametrize("line", [1, 500, 998])
    @pytest.mark.parametrize("where", ["g", "note"])
    def test_never_closed(self, tmp_path, line, where):
        frame = rows()
        frame.to_csv(tmp_path / "x.csv", index=False)
        text = (tmp_path / "x.csv").read_text().splitlines()
        fields = text[line].split(",")
        fields[["s", "g", "note"].index(where)] = '"' + fields[["s", "g", "note"].index(where)]
        text[line] = ",".join(fields)
        (tmp_path / "x.csv").write_text("\n".join(text) + "\n")
        refused(tmp_path / "x.csv", tmp_path, rf"line {line + 1}: a quote that opens in this row is never closed")

    def test_closed_by_another(self, tmp_path):
        """Two stray quotes make one long field, whose end is no end of a field."""
        text = rows().to_csv(index=False).splitlines()
        text[100] = text[100].replace("x", '"x')
        text[700] = text[700].replace("x", '"x')
        (tmp_path / "x.csv").write_text("\n".join(text))
        refused(tmp_path / "x.csv", tmp_path, "line 101: a quote that opens in this row is closed in line 701, but no")

    def test_quotes_inside_text_are_text(self, tmp_path):
        (tmp_path / "x.csv").write_text('s,g,note\n0.1,a,5" pipe\n0.2,b,"two ""quotes""\nand a line"\n\n0.3,a,x\n')
        for way, act in ways(tmp_path / "x.csv", tmp_path / "y.csv"):
            assert act() == 3, way
        assert pd.read_csv(tmp_path / "y.csv", quotechar='"')["note"][1] == 'two "quotes"\nand a line'

    @pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_as_many_rows_out_as_in(self, tmp_path, end, packed):
        notes = ['a "q"', "b\nc", "", "d,e", "\r", "é", "=1+1"]
        frame = pd.DataFrame({"s": np.arange(700) / 700, "g": ["a", "b"] * 350, "note": notes * 100})
        path, target = tmp_path / f"x.csv{packed}", tmp_path / f"y.csv{packed}"
        frame.to_csv(path, index=False, lineterminator=end, quoting=csv.QUOTE_NONNUMERIC)
        for way, act in ways(path, target):
            assert act() == 700, way
        after = pd.read_csv(target, keep_default_na=False, lineterminator="\n")
        assert len(after) == 700
        assert after["note"].tolist() == frame["note"].tolist()


def test_lines_of_the_wrong_length_are_named(tmp_path):
    (tmp_path / "x.csv").write_text("s,g,diagnosis\n0.1,a,flu\n0.2,b\n0.3,a,HIV,positive\n0.4,b,flu\n")
    for _, act in ways(tmp_path / "x.csv", tmp_path / "y.csv"):
        with pytest.raises(InputFileError, match=r"2 lines .* \(line 3 has 2, line 4 has 4\)") as error:
            act()
        assert "HIV" not in str(error.value)


class TestBombs:
    def test_a_line_that_never_ends(self, tmp_path):
        (tmp_path / "x.csv").write_bytes(b"s,g\n0.1,a\n0.2," + b"b" * (MAX_LINE + 100) + b"\n")
        refused(tmp_path / "x.csv", tmp_path, "longer than 8 MB")
        (tmp_path / "x.csv").unlink()
        packed = gzip.compress(b'{"s": 0.1, "g": "a"}\n{"s": 0.2, "g": "' + b"b" * (MAX_LINE + 100), 1)
        (tmp_path / "x.jsonl").write_bytes(packed)
        refused(tmp_path / "x.jsonl", tmp_path, "line 2, is longer than 8 MB")

    def test_column_names_that_never_end(self, tmp_path):
        (tmp_path / "x.csv").write_bytes(b"s,g," + b"x" * (MAX_LINE + 100_000))
        refused(tmp_path / "x.csv", tmp_path, "first line is longer")

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
    def test_json_without_a_bottom(self, tmp_path, text):
        (tmp_path / "x.jsonl").write_text('{"s": 0.1, "g": "a"}\n' + text + "\n")
        refused(tmp_path / "x.jsonl", tmp_path, "nested too deeply|no JSON")


class TestOneTruth:
    """What counting accepts, and how it reads it, is what adjusting does."""

    @pytest.mark.parametrize("name", ["x.csv.gz", "x.jsonl.gz"])
    @pytest.mark.parametrize("place", [-8, -4])
    def test_checksums_and_lengths(self, tmp_path, name, place):
        frame = rows()
        text = frame.to_csv(index=False) if "csv" in name else frame.to_json(orient="records", lines=True)
        packed = bytearray(gzip.compress(text.encode()))
        packed[place] ^= 1
        (tmp_path / name).write_bytes(packed)
        refused(tmp_path / name, tmp_path, "(?i)crc|length")

    @pytest.mark.parametrize("text", ['{"s": 0.9, "g": "a", "s": 0.1}', '{"s": 0.1, "g": "a", "x": {"k": 1, "k": 2}}'])
    def test_keys_that_come_twice(self, tmp_path, text):
        (tmp_path / "x.jsonl").write_text('{"s": 0.5, "g": "b"}\n' * 2000 + text + "\n")
        refused(tmp_path / "x.jsonl", tmp_path, r"line 2001: a key comes twice in one object, such as '[sk]'")

    def test_numbers(self, tmp_path):
        """One reading of every way to write a number, or not to."""
        words = ["1", "+1", " 1 ", "1.", ".5", "1e3", "inf", "1_0", "0x1", "1d", "١", "abc", "NA", "", "1e400", "-0"]
        for word in words:
            (tmp_path / "x.csv").write_text(f"s;g\n{word};a\n0.5;b\n")
            said = set()
            for _, act in ways(tmp_path / "x.csv", tmp_path / "y.csv"):
                try:
                    said.add(act())
                except (ValueError, TypeError) as error:
                    said.add(str(error).split("\n")[0])
            assert len(said) == 1, (word, said)

    @pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet", "x.arrow"])
    @pytest.mark.parametrize("value", [2**53, 2**53 + 1, -(2**53) - 1])
    def test_whole_numbers_beyond_doubles(self, tmp_path, name, value):
        table = pa.table({"s": [value, 1], "g": ["a", "b"]})
        if name == "x.csv":
            (tmp_path / name).write_text(f"s,g\n{value},a\n1,b\n")
        elif name == "x.jsonl":
            (tmp_path / name).write_text(f'{{"s":{value},"g":"a"}}\n{{"s":1,"g":"b"}}\n')
        else:
            pa.parquet.write_table(table, tmp_path / name) if "parquet" in name else pa.feather.write_feather(
                table, tmp_path / name
            )
        for _, act in ways(tmp_path / name, tmp_path / "y.csv"):
            if abs(value) <= 2**53:
                assert act() == 2
            else:
                with pytest.raises(ValueError, match=r"beyond 2\*\*53"):
                    act()

    @pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
    def test_decimals_of_any_width(self, tmp_path, name):
        text = ["0.1", "0.30000000000000000000000000000000000000000001"]
        table = pa.table({"s": pa.array(text).cast(pa.decimal256(60, 50)), "g": ["a", "b"]})
        pa.parquet.write_table(table, tmp_path / name) if "parquet" in name else pa.feather.write_feather(
            table, tmp_path / name
        )
        found = fairpot.score_table(tmp_path / name, score="s", group="g")
        assert [c.score.tolist() for c in found.counts] == [[0.1], [0.3]]
        apply(MAPS, tmp_path / name, output=tmp_path / "y.csv", **COLUMNS)
        assert pd.read_csv(tmp_path / "y.csv")["s_adjusted"].tolist() == [0.1, 0.65]

    @pytest.mark.parametrize("distinct", [1000, 2])
    @pytest.mark.parametrize("weights", [None, "frequency", "importance"])
    def test_weights_whose_products_overflow(self, tmp_path, distinct, weights):
        pd.DataFrame({"s": [0.1, 0.2, 0.3, 0.4], "g": [*"abab"], "w": [1e160, 1, 1, 1]}).to_csv(tmp_path / "x.csv")
        source = RowSource(tmp_path / "x.csv", score="s", groups="g", weight="w", weights=weights)
        with pytest.raises(ValueError, match="products of weights"):
            count_rows(source, max_distinct=distinct)


class TestFolders:
    """Names of folders say nothing."""

    @pytest.fixture
    def place(self, tmp_path):
        (tmp_path / "g=a").mkdir()
        (tmp_path / "h=1").mkdir()
        return tmp_path

    @pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet", "x.feather"])
    @pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl"])
    def test_never_over_a_column(self, place, name, suffix):
        frame = rows(10)
        path = place / "g=a" / name
        table = pa.Table.from_pandas(frame, preserve_index=False)
        if name == "x.csv":
            frame.to_csv(path, index=False)
        elif name == "x.jsonl":
            frame.to_json(path, orient="records", lines=True, double_precision=15)
        else:
            pa.parquet.write_table(table, path) if "parquet" in name else pa.feather.write_feather(table, path)
        target = place / f"y.{suffix}"
        assert count_rows(RowSource(path, score="s", groups="g")).table.groups == ("a", "b")
        assert apply(MAPS, path, output=target, **COLUMNS).moved == 5

    def test_a_folder_named_after_home(self, tmp_path, monkeypatch):
        (tmp_path / "~").mkdir()
        (tmp_path / "home").mkdir()
        rows(4).to_parquet(tmp_path / "~" / "x.parquet")
        rows(8).to_parquet(tmp_path / "home" / "x.parquet")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("HOME", str(tmp_path / "home"))
        assert count_rows(RowSource("~/x.parquet", score="s", groups="g")).rows == 4


class TestQueries:
    """A query of one's own reads what it names, and changes nothing."""

    def test_what_it_is_for(self, tmp_path):
        (tmp_path / "some.csv").write_text("s,g\n0.1,a\n0.2,b\n")
        (tmp_path / "more.csv").write_text("s,g\n0.1,a\n0.2,b\n0.3,b\n")
        every = f"select s, g from read_csv('{tmp_path}/*.csv')"
        assert count_rows(RowSource(sql=every, score="s", groups="g")).rows == 5

    @pytest.mark.parametrize("change", ["SET memory_limit = '1TB'", "SET autoload_known_extensions = true"])
    def test_settings_are_locked(self, change):
        source = RowSource(sql="select 1 as s, 'a' as g", score="s", groups="g")
        with DuckDBScan(source, "1GB", None) as scan, pytest.raises(duckdb.Error):
            scan._connection.execute(change)


class TestErrors:
    """Errors name the file, the row and the column, never what stands there."""

    SECRET = "HIV positive"

    def test_nothing_of_the_rows(self, tmp_path):
        frame = rows(20).assign(s=[0.5] * 19 + [self.SECRET], y=[0, 1] * 10)
        for name in ("x.csv", "x.jsonl", "x.parquet"):
            if name == "x.parquet":
                frame["s"] = frame["s"].astype(str)
            path = tmp_path / name
            frame.to_csv(path) if name == "x.csv" else frame.to_json(
                path, orient="records", lines=True
            ) if name == "x.jsonl" else frame.to_parquet(path)
            for _, act in ways(path, tmp_path / "y.csv"):
                with pytest.raises(TypeError) as error:
                    act()
                assert self.SECRET not in str(error.value)

    def test_columns_that_are_no_groups_and_no_labels(self, tmp_path):
        names = [f"patient {i}" for i in range(20)]
        rows(20).assign(name=names).to_csv(tmp_path / "x.csv", index=False)
        with pytest.raises(ValueError, match="20 different ones") as error:
            count_rows(RowSource(tmp_path / "x.csv", score="s", label="name", groups="g"))
        assert "patient" not in str(error.value)
        with pytest.raises(ValueError, match="20 different ones") as error:
            apply(MAPS, tmp_path / "x.csv", output=tmp_path / "y.csv", score="s", group="name")
        assert "patient" not in str(error.value)

    def test_what_duckdb_says(self, tmp_path):
        sql = f"select cast('{self.SECRET}' || i as double) as s, 'a' as g from range(3) t(i)"
        with pytest.raises(InputFileError, match="Conversion Error") as error:
            count_rows(RowSource(sql=sql, score="s", groups="g"))
        assert self.SECRET not in str(error.value)

    def test_never_megabytes(self, tmp_path):
        long = "x" * 100_000
        (tmp_path / "x.csv").write_text(f"s,g\n{long},a\n0.1,b\n0.2,{long}\n")
        for _, act in ways(tmp_path / "x.csv", tmp_path / "y.csv"):
            with pytest.raises((ValueError, TypeError)) as error:
                act()
            assert len(str(error.value)) < 1000


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="needs POSIX rights")
class TestRights:
    @pytest.fixture(autouse=True)
    def mask(self):
        old = os.umask(0o022)
        yield
        os.umask(old)

    @pytest.fixture
    def path(self, tmp_path):
        rows(10).to_csv(tmp_path / "x.csv", index=False)
        return tmp_path / "x.csv"

    def adjusted(self, path, **options):
        target = path.with_name("y.csv")
        apply(MAPS, path, output=target, **COLUMNS, **options)
        return target.stat().st_mode & 0o777

    @pytest.mark.parametrize(("mode", "expected"), [(0o600, 0o600), (0o640, 0o640), (0o644, 0o644), (0o400, 0o600)])
    def test_never_more_readable_than_the_input(self, path, mode, expected):
        path.chmod(mode)
        assert self.adjusted(path) == expected

    def test_of_several_inputs_the_strictest(self, path, tmp_path):
        other = tmp_path / "z.csv"
        other.write_bytes(path.read_bytes())
        other.chmod(0o600)
        apply(MAPS, [path, other], output=tmp_path / "y.csv", **COLUMNS)
        assert (tmp_path / "y.csv").stat().st_mode & 0o777 == 0o600

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
    def test_replacing_keeps_the_mode(self, path, mode):
        target = path.with_name("y.csv")
        target.touch()
        target.chmod(mode)
        assert self.adjusted(path, overwrite=True) == mode

    @pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root can give files away")
    def test_replacing_keeps_the_owner(self, path):
        target = path.with_name("y.csv")
        target.touch()
        os.chown(target, 1234, 2345)
        self.adjusted(path, overwrite=True)
        assert (target.stat().st_uid, target.stat().st_gid) == (1234, 2345)

    def test_nobody_looks_while_it_is_written(self, tmp_path):
        with complete_file(tmp_path / "y.csv") as place:
            assert place.parent.stat().st_mode & 0o077 == 0
            place.touch()

    @pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda p: os.symlink("/dev/null", p)])
    def test_only_files_are_targets(self, path, make):
        make(path.with_name("y.csv"))
        for options in (
            {"output": path.with_name("y.csv")},
            {"output": path.with_name("z.csv"), "changes": path.with_name("y.csv")},
        ):
            with pytest.raises(OutputFileError, match=r"is a (folder|device)"):
                apply(MAPS, path, overwrite=True, **COLUMNS, **options)
        assert not path.with_name("z.csv").exists()

    def test_maps_are_no_devices(self, tmp_path):
        from fairpot import FairPOT

        model = FairPOT(0.5, reference="a").fit([0.1, 0.2, 0.3, 0.4], sensitive_features=[*"abab"])
        os.mkfifo(tmp_path / "map.json")
        with pytest.raises(ValueError, match="device"):
            model.save(tmp_path / "map.json", overwrite=True)


def test_formulas_are_neutralised_when_asked(tmp_path):
    notes = ["=1+1", "+cmd", "-5", "@x", "-x", "plain", " =2", "+3.5"]
    pd.DataFrame({"s": 0.5, "g": "a", "note": notes}).to_csv(tmp_path / "x.csv", index=False)
    apply(MAPS, tmp_path / "x.csv", output=tmp_path / "y.csv", **COLUMNS)
    assert pd.read_csv(tmp_path / "y.csv", dtype=str)["note"].tolist() == notes
    apply(MAPS, tmp_path / "x.csv", output=tmp_path / "z.csv", neutralise_formulas=True, **COLUMNS)
    after = pd.read_csv(tmp_path / "z.csv", dtype=str)["note"].tolist()
    assert after == ["'=1+1", "'+cmd", "-5", "'@x", "'-x", "plain", "' =2", "+3.5"]


def run(*words, expect=2):
    answer = make_runner().invoke(app, [str(word) for word in words])
    assert answer.exit_code == expect, answer.output
    assert "this should not happen" not in answer.stderr
    return answer.stderr if expect else answer.stdout


@pytest.fixture
def scored(tmp_path, monkeypatch):
    """Rows with an outcome, a map of them, and the folder of both as the working directory."""
    monkeypatch.chdir(tmp_path)
    frame = rows(40).assign(y=[0, 1, 1, 0] * 10).rename(columns={"s": "score", "g": "group", "y": "label"})
    frame.to_csv("rows.csv", index=False)
    run("fit", "rows.csv", "--lam", "0.5", "--reference", "a", "-o", "map.json", expect=0)
    return frame


@pytest.mark.skipif(sys.platform == "win32", reason="needs devices and pipes of POSIX")
class TestWhatIsNoFile:
    """Devices never end, and pipes may never begin."""

    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full"])
    def test_devices(self, scored, device):
        for words in (["audit", device], ["apply", "map.json", device, "-o", "y.csv", "--format", "csv"]):
            assert "is a device" in run(*words)
        for words in (
            ["show", device],
            ["audit", "rows.csv", "--settings", device],
        ):
            assert "not a regular file" in run(*words)
        assert "is a device" in run("apply", "map.json", "rows.csv", "-o", device)

    def test_standard_input(self, tmp_path):
        count = "from fairpot.rows import *; count_rows(RowSource('-', score='s', groups='g'))"
        for given, said in (("</dev/zero", "standard input is a device"), ("<&-", "no standard input")):
            line = ["sh", "-c", f'"{sys.executable}" -c "{count}" {given}']
            assert said in subprocess.run(line, capture_output=True, text=True, check=False, timeout=300).stderr

    @pytest.mark.parametrize("kind", ["pipe", "long", "deep"])
    def test_cards(self, scored, kind):
        if kind == "pipe":
            os.mkfifo("card.toml")
        else:
            text = {"long": 'purpose = "' + "x" * 30_000 + '"', "deep": "purpose = " + "[" * 9000 + "]" * 9000}[kind]
            Path("card.toml").write_text(text)
        said = {"pipe": "not a regular file", "long": "more than 20000", "deep": "is not TOML"}[kind]
        assert said in run("report", "rows.csv", "--map", "map.json", "--card", "card.toml", "-o", "r.html")
        assert not os.path.exists("r.html")

    def test_links_that_lead_nowhere(self, scored):
        os.symlink("loop", "loop.csv")
        os.symlink("loop.csv", "loop")
        assert "leads nowhere" in run("apply", "map.json", "rows.csv", "-o", "loop.csv")
        assert "is empty" in run("apply", "map.json", "rows.csv", "-o", "")

    def test_plants_among_temporary_files(self, tmp_path):
        """In a folder that all may write to, a stranger's link is neither followed nor removed."""
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "keep").write_text("x")
        shared = tmp_path / "shared"
        shared.mkdir()
        (shared / ".scratch.fairpot-0123456789abcdef.tmp").symlink_to(tmp_path / "mine")
        planted = shared / ".scratch.fairpot-1123456789abcdef.tmp"
        planted.mkdir()
        (planted / "in").symlink_to(tmp_path / "mine")
        os.link(tmp_path / "mine" / "keep", shared / ".x.fairpot-2123456789abcdef.tmp")
        os.mkfifo(shared / ".y.fairpot-3123456789abcdef.tmp")
        remove_leftovers(shared)
        assert (tmp_path / "mine" / "keep").read_text() == "x"
        assert planted not in shared.iterdir()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have names of Unicode only")
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "csv.zst", "jsonl", "parquet", "feather"])
def test_names_that_are_not_utf8(scored, suffix):
    name = f"\udcff.{suffix}"
    scored.to_parquet("rows.parquet")
    run("apply", "map.json", "rows.parquet", "-o", name, "--changes", f"c{name}", expect=0)
    assert run("audit", name, expect=0) == run("audit", "rows.parquet", expect=0) != ""
    run("apply", "map.json", name, "-o", "y.csv", "--replace", expect=0)
    assert pd.read_csv("y.csv")["score"].tolist() == scored["score"].tolist()


STEERING = "b\x1b[2J\u202e\u2066\u200b<script>alert(1)</script>"


def steers(text):
    return any(not c.isprintable() and c not in "\n\t\u200d" for c in text)


class TestNames:
    """Names of groups and columns that steer a terminal, turn a line round or look like others."""

    @pytest.fixture
    def hostile(self, scored):
        scored["group"] = np.where(scored["group"] == "a", "a", STEERING)
        scored.to_csv("rows.csv", index=False)
        run("fit", "rows.csv", "--lam", "0.5", "--reference", "a", "-o", "map.json", "--force", expect=0)
        return scored

    @pytest.mark.parametrize("dialect", ["postgres", "duckdb", "sqlite", "spark", "bigquery", "snowflake"])
    def test_sql(self, hostile, dialect):
        said = run("export", "map.json", "--to", "sql", "--dialect", dialect, "--table", "t", "-o", "m.sql")
        assert "has a character that SQL texts cannot hold.\nHint: rename it before fit." in said
        assert not steers(said)
        assert not Path("m.sql").exists()

    @pytest.mark.parametrize("name", ["m.py", "m.js"])
    def test_programs(self, hostile, name):
        to = {"m.py": "python", "m.js": "javascript"}[name]
        run("export", "map.json", "--to", to, "-o", name, expect=0)
        assert not steers(Path(name).read_text(encoding="utf-8"))

    @pytest.mark.parametrize("name", ["r.md", "r.html"])
    def test_reports(self, hostile, name):
        run("report", "rows.csv", "--map", "map.json", "-o", name, expect=0)
        text = Path(name).read_text(encoding="utf-8")
        assert not steers(text)
        assert "<script>alert" not in text

    def test_notebooks_and_terminals(self, hostile):
        assert not steers(run("audit", "rows.csv", expect=0))
        assert not steers(run("show", "map.json", expect=0))
        assert not steers(run("audit", "\x1b\u202enone.csv"))
        text = fairpot.audit(hostile["label"], hostile["score"], sensitive_features=hostile["group"])._repr_html_()
        assert not steers(text)
        assert "<script>alert" not in text

    def test_columns_in_sql(self, scored):
        scored.rename(columns={"score": STEERING}).to_csv("rows.csv", index=False)
        run("fit", "rows.csv", "--score", STEERING, "--lam", "0.5", "--reference", "a", "-o", "m.json", expect=0)
        assert "must be a printable text" in run(
            "export", "m.json", "--to", "sql", "--dialect", "duckdb", "--table", "t"
        )

    @pytest.mark.parametrize(("one", "other"), [("caf\u00e9", "cafe\u0301"), ("b", "b\u200b"), ("\ufb01t", "fit")])
    def test_names_that_look_alike(self, scored, one, other):
        scored["group"] = np.where(scored["group"] == "a", one, other)
        scored.to_csv("rows.csv", index=False)
        with pytest.warns(UserWarning, match="differ only by spaces, case or how letters are coded") as told:
            count_rows(RowSource("rows.csv", score="score", groups="group"))
        shown = str(told[0].message).split(" differ")[0].split(" and ")
        assert shown[0].split("groups ")[1] != shown[1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"s": 0.5, "g": "\\ud800"}', "half of a character"),
        ('{"s": 0.5, "g": "b", "\\udc00": 1}', "half of a character"),
        ('{"s": ' + "9" * 5000 + ', "g": "b"}', "is no JSON"),
        ('{"s": 0.5, "g": "b", "x": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ('{"s": 0.5, "g": "b"}\0', "is no JSON"),
        ('\ufeff{"s": 0.5, "g": "b"}', "is no JSON"),
    ],
)
def test_lines_of_json(tmp_path, line, said):
    (tmp_path / "x.jsonl").write_text('{"s": 0.1, "g": "a"}\n' + line + "\n", encoding="utf-8")
    refused(tmp_path / "x.jsonl", tmp_path, said)


def test_whole_characters_are_read(tmp_path):
    (tmp_path / "x.jsonl").write_text(json.dumps({"s": 0.1, "g": "a😀"}) + "\n" + '{"s": 0.1, "g": "b"}\n')
    assert count_rows(RowSource(tmp_path / "x.jsonl", score="s", groups="g")).table.groups == ("a😀", "b")


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: gzip.compress(data) + b"more",
        lambda data: gzip.compress(data)[:-8] + bytes(8),
        lambda data: b"\x1f\x8b\x08\x04" + bytes(6) + b"\xff\xff" + data[:100],
        lambda data: gzip.compress(gzip.compress(data)),
        lambda data: b"\x28\xb5\x2f\xfd\xa0\xff\xff\xff\xff\xff\xff\xff\x7f" + data,
        lambda data: pa.compress(data, "zstd", asbytes=True)[:-9],
        lambda data: pa.compress(data, "zstd", asbytes=True) + b"more",
    ],
)
def test_packed_text_that_lies(tmp_path, damage):
    rows(100).to_csv(tmp_path / "x.csv", index=False)
    (tmp_path / "x.csv").write_bytes(damage((tmp_path / "x.csv").read_bytes()))
    refused(tmp_path / "x.csv", tmp_path, "cannot be read as csv|is not UTF-8")


@pytest.mark.parametrize(
    "sql",
    [
        "select 1; select 2",
        "copy (select 1) to 'y.csv'",
        "attach 'y.csv'",
        "install httpfs",
        "set threads = 1",
        "pragma version",
    ],
)
def test_queries_only_read(tmp_path, monkeypatch, sql):
    monkeypatch.chdir(tmp_path)
    old = (
        "|the query cannot be read: Parser Error" if sql.startswith("pragma") else ""
    )  # DuckDB 1.2 takes it for a SELECT
    with pytest.raises(InputFileError, match=f"sql must be a single SELECT{old}"):
        count_rows(RowSource(sql=sql, score="s", groups="g"))
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("word", ["-1", "nan", "inf", "1e308", "1e-320", "", "x"])
def test_weights(tmp_path, word):
    (tmp_path / "x.csv").write_text(f"s,g,w\n0.1,a,1\n0.2,b,1\n0.3,b,{word}\n")
    with pytest.raises((ValueError, TypeError), match="column 'w'"):
        count_rows(RowSource(tmp_path / "x.csv", score="s", groups="g", weight="w"))


def test_results_are_written_whole_or_not_at_all(tmp_path, monkeypatch):
    """The system has no room when the file is put on disk: what was there stays."""
    import fairpot.rows.output

    path = tmp_path / "x.html"
    path.write_text("old")
    table = fairpot.score_table([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], sensitive_features=[*"aabb"])
    act = fairpot.FairnessReport(table).save

    def full(place):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fairpot.rows.output, "_sync", full)
    with pytest.raises(OSError, match="No space left"):
        act(path, overwrite=True)
    assert path.read_text() == "old"
    assert [*tmp_path.iterdir()] == [path]


def test_only_the_map_that_is_meant(scored):
    """From Python as at the command line; a condition without a map to hold against is an error, not ignored."""
    for wrong, said in (("0" * 64, "expected is 00"), ("", "64 hexadecimal")):
        with pytest.raises(ValueError, match=said):
            fairpot.apply("map.json", "rows.csv", "y.csv", expect_sha256=wrong)
        with pytest.raises(TypeError, match="says which map file"):
            fairpot.apply(fairpot.load("map.json"), "rows.csv", "y.csv", expect_sha256=wrong)
        assert said in run("apply", "map.json", "rows.csv", "-o", "y.csv", "--expect-sha256", wrong)
        assert "it needs --map" in run("report", "rows.csv", "--expect-sha256", wrong, "-o", "r.html")
    assert not os.path.exists("y.csv")
    digest = hashlib.sha256(Path("map.json").read_bytes()).hexdigest()
    assert fairpot.apply("map.json", "rows.csv", "y.csv", expect_sha256=digest).rows == 40


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"top = {'9' * 400}", "top is a number beyond"),
        (f"min_group = {'9' * 400}", "min_group is a number beyond"),
        ("top = 2020-01-01", "top must be a text, a number"),
        ("columns = 1", "columns must be a section"),
        ("[files]\nencoding = 'rot13'", "there is no encoding 'rot13'"),
        ('[files]\nencoding = "a\\u0000b"', "there is no encoding"),
        ("[files]\ndelimiter = 'ab'", "delimiter must be one character"),
        (f"top_of = '{'x' * 15_000}'", "'--top-of'"),
    ],
)
def test_settings_of_strange_values(scored, text, said):
    Path("fairpot.toml").write_text(text + "\n")
    told = run("audit", "rows.csv")
    assert said in told
    assert "\nHint: " in told
    assert len(told) < 4000


@pytest.mark.parametrize("name", ["${x}", "{0.__class__}", "{"])
def test_names_with_braces(scored, name):
    """A name is never taken for a pattern to be filled in."""
    scored["group"] = np.where(scored["group"] == "a", "a", name)
    scored.to_csv("rows.csv", index=False)
    run("fit", "rows.csv", "--lam", "0.5", "--reference", "a", "-o", "map.json", "--force", expect=0)
    assert name in run("audit", "rows.csv", expect=0)
    run("report", "rows.csv", "--map", "map.json", "-o", "r.html", expect=0)


@pytest.mark.skipif(sys.platform == "win32", reason="needs folders with handles")
@pytest.mark.parametrize(("levels", "length", "said"), [(150, 1, "deeper than 100"), (20, 250, "cannot be read")])
def test_folders_that_are_not_read_are_told(tmp_path, levels, length, said):
    """The rows of a folder that cannot be looked into would be left out without a word."""
    rows(10).to_csv(tmp_path / "x.csv", index=False)
    assert count_rows(RowSource(tmp_path, score="s", groups="g")).rows == 10
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("d" * length, dir_fd=here)
        inner = os.open("d" * length, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    with pytest.raises(InputFileError, match=said):
        count_rows(RowSource(tmp_path, score="s", groups="g"))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ties", "x"),
        ("top", "x"),
        ("top", 1e308),
        ("top", 0),
        ("top_of", None),
        ("repair", "x"),
        ("keep", "x"),
        ("net_benefit_at", -1),
        ("max_gap", -1e308),
        # What methods of earlier versions were given.
        ("region", None),
        ("high_score_means", "x"),
        ("capacity", "x"),
        ("capacity", -3),
        ("groups", 0.5),
        ("groups", "ab"),
        ("alpha", 1e308),
        ("alpha", 0.0),
    ],
)
def test_parameters_that_no_fit_was_given(scored, name, value):
    """A forged map that loads, but ends a report or makes it say what is not so."""
    content = json.loads(Path("map.json").read_text())
    content["parameters"][name] = value
    content["checksum"] = checksum(content)
    Path("map.json").write_text(json.dumps(content))
    assert f"parameters.{name} must be" in run("show", "map.json")


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="counts open files as Linux tells them")
def test_nothing_stays_open(scored):
    def once():
        for words in (["audit", "rows.csv"], ["apply", "map.json", "rows.csv", "-o", "y.parquet", "--force"]):
            run(*words, expect=0)
        for words in (
            ["audit", "none.csv"],
            ["show", "rows.csv"],
            ["audit", "map.json"],
            ["audit", "y.parquet", "--score", "x"],
        ):
            run(*words)

    once()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        once()
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.mark.parametrize("name", ["x.parquet", "x.feather"])
def test_groups_that_are_not_utf8(tmp_path, name):
    """Bytes that a file claims to be text."""
    bytes_ = pa.array([b"a", b"\xee"], pa.binary())
    group = pa.Array.from_buffers(pa.string(), 2, bytes_.buffers())
    table = pa.table({"s": [0.1, 0.2], "g": group})
    (pa.parquet.write_table if name == "x.parquet" else pa.feather.write_feather)(table, tmp_path / name)
    with pytest.raises(InputFileError, match="Hint"):
        apply(MAPS, tmp_path / name, tmp_path / "y.csv", **COLUMNS)
    with pytest.raises(InputFileError, match="Hint"):
        count_rows(RowSource(tmp_path / name, score="s", groups="g"))
    assert not (tmp_path / "y.csv").exists()


@pytest.mark.parametrize("which", [1, 2, 3])
def test_columns_whose_names_are_not_utf8(tmp_path, which):
    """Parquet says each name twice, in its schema and beside the column: damaged, it is read or refused by both."""
    table = pa.table({"s": [0.1, 0.2], "g": ["a", "b"], "note": ["x", "y"]})
    pa.parquet.write_table(table, tmp_path / "x.parquet", store_schema=False)
    data = bytearray((tmp_path / "x.parquet").read_bytes())
    places = [place for place in range(len(data)) if data.startswith(b"note", place)]
    assert len(places) == 2
    for i, place in enumerate(places):
        data[place] = 0xFF if which >> i & 1 else data[place]
    (tmp_path / "x.parquet").write_bytes(data)
    for _, act in ways(tmp_path / "x.parquet", tmp_path / "y.parquet"):
        if which == 2:
            assert act() == 2
            continue
        with pytest.raises(InputFileError, match=r"cannot be read as parquet: a name .* not UTF-8\nHint: the file may"):
            act()
