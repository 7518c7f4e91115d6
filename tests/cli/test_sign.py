"""fairpot sign, verify, fit --private and apply --expect-sha256: maps that can be trusted and given away."""

import hashlib
import json
import shutil

import pytest

from cli.conftest import COLUMNS, draw_people
from fairpot.modelfile.text import checksum


@pytest.fixture
def key(run, tmp_path):
    run("sign", "--new-key", tmp_path / "team.key")
    return tmp_path / "team.key"


@pytest.fixture
def signed(run, fitted, tmp_path, key):
    path = tmp_path / "map.json"
    shutil.copy(fitted, path)
    run("sign", path, "--key", key)
    return path


def test_sign_and_verify(run, signed, key, fitted):
    assert signed.read_bytes() == fitted.read_bytes()
    digest = hashlib.sha256(signed.read_bytes()).hexdigest()
    assert "good: " in run("verify", signed, "--key", key).out
    found = run("verify", signed, "--key", key, "--json").json
    assert (found["good"], found["sha256"], found["algorithm"]) == (True, digest, "hmac-sha256")
    assert "already exists" in run("sign", signed, "--key", key, expect=2).err
    again = run("sign", signed, "--key", key, "--force")
    assert digest in again.out
    secret = key.read_text().strip().partition(":")[2]
    assert len(secret) == 64
    assert secret not in again.out + again.err + (signed.parent / "map.json.sig").read_text()


def test_new_keys(run, fitted, tmp_path):
    found = run("sign", "--new-key", tmp_path / "p.pem", "--algorithm", "ed25519", "--json").json
    assert (found["algorithm"], found["public_key"]) == ("ed25519", str(tmp_path / "p.pem.pub"))
    assert "not overwritten" in run("sign", "--new-key", tmp_path / "p.pem", expect=2).err
    for words in (["sign", fitted, "--new-key", "x"], ["sign"], ["sign", fitted], ["sign", "--from-secret", "x"]):
        assert "Hint: " in run(*words, expect=2).err
    old = tmp_path / "old.key"
    old.write_text("0123456789abcdef" * 4 + "\n")
    error = run("verify", fitted, "--key", old, expect=2).err
    assert f"--new-key NEW --from-secret {old}" in error
    run("sign", "--new-key", tmp_path / "new.key", "--from-secret", old)


def test_a_changed_map_is_found(run, signed, key, csv, tmp_path):
    content = json.loads(signed.read_text())
    content["maps"][0]["map"]["values"] = [0.1] * len(content["maps"][0]["map"]["values"])
    content["checksum"] = checksum(content)
    signed.write_text(json.dumps(content))
    run("show", signed)  # the checksum fits
    error = run("verify", signed, "--key", key, expect=2).err
    assert "is not the one that was signed" in error
    assert "Hint: do not use the file" in error
    target = tmp_path / "out.csv"
    arguments = ["apply", signed, csv, "--score", "risk", "--group", "sex", "-o", target]
    assert "not the one that was signed" in run(*arguments, "--key", key, expect=2).err
    assert not target.exists()
    run(*arguments)


def test_other_keys(run, signed, key, tmp_path):
    other = tmp_path / "other.key"
    run("sign", "--new-key", other)
    assert "made with another key" in run("verify", signed, "--key", other, expect=2).err
    assert "no such file" in run("verify", signed, "--key", tmp_path / "none", expect=2).err
    assert "--key" in run("verify", signed, expect=2).err
    (tmp_path / "map.json.sig").unlink()
    assert "no such file" in run("verify", signed, "--key", key, expect=2).err


def test_expected_hash(run, fitted, csv, tmp_path):
    digest = hashlib.sha256(fitted.read_bytes()).hexdigest()
    arguments = ["apply", fitted, csv, "-o", tmp_path / "out.csv", "--expect-sha256"]
    assert "expected is 0000" in run(*arguments, "0" * 64, expect=2).err
    assert "64 hexadecimal digits" in run(*arguments, "abc", expect=2).err
    assert not (tmp_path / "out.csv").exists()
    run(*arguments, digest)


READERS = {
    "apply": ["apply", "MAP", "CSV", "-o", "OUT.csv"],
    "show": ["show", "MAP"],
    "report": ["report", "CSV", *COLUMNS, "--map", "MAP", "-o", "OUT.html"],
    "export": ["export", "MAP", "--to", "python", "-o", "OUT.py"],
    "verify": ["verify", "MAP", "--key", "KEY"],
}


@pytest.mark.parametrize("command", READERS.values(), ids=READERS)
def test_every_command_that_reads_a_map_can_be_told_which(run, signed, key, csv, tmp_path, command):
    places = {"MAP": signed, "CSV": csv, "KEY": key} | {
        f"OUT.{e}": tmp_path / f"OUT.{e}" for e in ("csv", "html", "py")
    }
    words = [places.get(word, word) for word in command]
    digest = hashlib.sha256(signed.read_bytes()).hexdigest()
    assert "expected is 0000" in run(*words, "--expect-sha256", "0" * 64, expect=2).err
    assert not list(tmp_path.glob("OUT.*"))
    other = tmp_path / "other.key"
    run("sign", "--new-key", other)
    assert "made with another key" in run(*words, "--key", other, expect=2).err
    assert not list(tmp_path.glob("OUT.*"))
    run(*words, "--expect-sha256", digest, "--key", key)


def test_a_key_needs_its_map(run, csv, key, tmp_path):
    assert "it needs --map" in run("report", csv, *COLUMNS, "--key", key, "-o", tmp_path / "r.html", expect=2).err


def test_private(run, csv, people, tmp_path):
    out = run("fit", csv, *COLUMNS, "--lam", 1, "--private", "-o", tmp_path / "private.json").out
    assert "private: maps are simplified; adjusted scores within 0.0" in out
    run("fit", csv, *COLUMNS, "--lam", 1, "-o", tmp_path / "full.json")
    assert (tmp_path / "private.json").stat().st_size < (tmp_path / "full.json").stat().st_size / 3
    found = run("fit", csv, *COLUMNS, "--lam", 1, "--private", "--json").json
    assert 0 < found["private"]["largest_error"] < 0.15  # ten people stand behind each breakpoint
    assert "private: counts rounded" in run("show", tmp_path / "private.json").out
    assert run("show", tmp_path / "private.json", "--json").json["private"] == found["private"]


def test_small_groups_at_fit(run, tmp_path):
    some = draw_people(200)
    some.loc[:2, "sex"] = "X"
    some.loc[:2, "outcome"] = [0, 1, 0]
    some.to_csv(tmp_path / "some.csv", index=False)
    arguments = ["fit", tmp_path / "some.csv", *COLUMNS, "--lam", 0.5, "--reference", "M", "-o", tmp_path / "m.json"]
    assert "fewer than 10 people of 'X' make up the maps" in run(*arguments).err
    error = run(*arguments, "--force", "--private", expect=2).err
    assert "also if they are rounded" in error
    assert "groups of fewer than 10 left out" in run("show", tmp_path / "m.json").out


def test_text_of_a_file_does_not_steer_the_terminal(run, fitted, tmp_path):
    content = json.loads(fitted.read_text())
    content["fitted_on"]["library_version"] = "1.0\x1b[2J\x1b]0;owned\x07"
    content["checksum"] = checksum(content)
    (tmp_path / "m.json").write_text(json.dumps(content))
    answer = run("show", tmp_path / "m.json", expect=2)
    assert "\x1b" not in answer.out + answer.err
    assert "printable" in answer.err
