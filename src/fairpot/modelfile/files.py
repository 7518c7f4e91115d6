"""Map files on disk: bounded reading, canonical JSON with a checksum, parsed without trust, written whole or not."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, NoReturn

from fairpot._arguments import argument
from fairpot._log import tell
from fairpot._moved import WHERE
from fairpot._warn import warn_user
from fairpot.exceptions import FairpotWarning, ModelFileError
from fairpot.modelfile.content import checked
from fairpot.modelfile.forms import CHANGED, FORMAT, SCHEMA_VERSION, MapFile, Object, refuse, shown
from fairpot.rows.output import atomic_file, check_output

# What a file may have unless more is allowed: some two million knots.
MAX_BYTES = 100_000_000
_MAX_SIGNATURE = 10_000  # bytes of one of an earlier version
_MOST_DIGITS = 20  # of 64 bits, with a minus
# Far above what a model needs: some thirty objects, lists, keys and texts a group, and two numbers a knot.
MAX_PARTS = 1_000_000
# So many knots ascend only if they have this many bytes on average, the comma included.
_SHORTEST = 7
_NAME_IT = "Hint: name the file that `fairpot fit -o`, or `save` in Python, wrote."
_NO_MODEL = (
    "Hint: a map file is what `fairpot fit -o`, or `save` in Python, writes; see "
    "https://fairpot.github.io/fairpot/reference/map-file.html"
)


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Put the file's name before the reason it is refused for."""
    try:
        yield
    except ModelFileError as error:
        raise type(error)(f"the map file {os.fspath(path)!r} cannot be used: {error}") from error


def bytes_of(path: str, most: int, hint: str = _NAME_IT) -> bytes:
    """Read a regular file of at most so many bytes."""
    try:
        # A pipe that nobody writes to is opened at once, and told from a file.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(handle, "rb") as file:
            kind = os.fstat(handle)
            regular = stat.S_ISREG(kind.st_mode)
            data = file.read(most + 1) if regular and kind.st_size <= most else b""
    except FileNotFoundError:
        raise ModelFileError("there is no such file.\nHint: look at the name and the folder.") from None
    except OSError as error:
        raise ModelFileError(
            f"it cannot be read: {error.strerror or error}.\nHint: look at the name and the rights."
        ) from error
    except ValueError as error:
        raise ModelFileError(f"that is not the name of a file: {error}.\nHint: check the name.") from error
    if not regular:
        what = "a directory" if stat.S_ISDIR(kind.st_mode) else "not a regular file"
        raise ModelFileError(f"it is {what}.\n{hint}")
    if max(kind.st_size, len(data)) > most:
        raise ModelFileError(
            f"it has {max(kind.st_size, len(data))} bytes, more than {most}.\n"
            f"{hint} If it is that large, and you know where it comes from, raise max_bytes."
        )
    return data


def toml_of(path: str, what: str, hint: str) -> dict[str, Any]:
    """Read a TOML file of a page or so: its parser is slow on what is nested deep. Errors call it ``what`` it is."""
    import tomllib  # few runs have one

    try:
        return tomllib.loads(bytes_of(path, 20_000, hint).decode("utf-8-sig"))  # some editors mark UTF-8
    except ModelFileError as error:
        said, _, _ = str(error).partition("\nHint:")
        raise ValueError(f"{what} {path!r}: {said}\n{hint}") from error
    except (ValueError, RecursionError) as error:  # numbers and dates that are none raise errors of their own
        raise ValueError(f"{what} {path!r} is not TOML: {error}.\n{hint}") from error


def read(
    path: str | PathLike[str], *, expect_sha256: str | None = None, max_bytes: int = MAX_BYTES
) -> tuple[MapFile, str]:
    """Read a map file, once, and its SHA-256; what is checked is what is used."""
    with naming(path):
        data = bytes_of(os.fspath(path), max_bytes)
        digest = hashlib.sha256(data).hexdigest()
        if expect_sha256 is not None:
            check_digest(digest, expect_sha256)
        model = loads(data)
    tell("loaded", map=os.fspath(path), bytes=len(data), sha256=digest)
    _warn_of_signature(os.fspath(path) + ".sig")
    return model, digest


def check_digest(found: str, expected: str) -> None:
    """Insist on the hash that the caller knows."""
    wanted = expected.strip().lower() if isinstance(expected, str) else ""
    if not re.fullmatch("[0-9a-f]{64}", wanted):
        raise ValueError(f"expect_sha256 must be 64 hexadecimal digits, got {shown(expected)}.\nHint: sha256sum FILE")
    if not hmac.compare_digest(found, wanted):
        raise ModelFileError(
            f"its SHA-256 is {found}, expected is {wanted}.\nHint: this is another file than the one you know; "
            "ask where it comes from before you use it."
        )


def _warn_of_signature(signature: str) -> None:
    """Say so if a signature of an earlier version stands beside the file: nobody has checked it."""
    try:
        ours = b'"fairpot-signature"' in bytes_of(signature, _MAX_SIGNATURE)
    except ModelFileError:  # there is none, or it is another program's
        return
    if ours:
        warn_user(
            f"the signature {signature!r} was not checked: fairpot itself signs and verifies no files any more.\n"
            f"Hint: insist on the file that you know with {argument('expect_sha256', 'HEX')}, or verify it with a "
            "program for that, https://fairpot.github.io/fairpot/how-to/share.html",
            FairpotWarning,
        )


def write(model: MapFile, path: str | PathLike[str], *, overwrite: bool = False, max_bytes: int = MAX_BYTES) -> str:
    """Write a map file and return its SHA-256: at any moment ``path`` is what it was before, or complete.

    A model that would take more than ``max_bytes`` is refused: it would not be loaded again unless you ask.
    """
    data = dumps(model)
    if len(data) > max_bytes:
        raise ModelFileError(
            f"the map file would have {len(data)} bytes, more than the {max_bytes} that are loaded unless you "
            "ask for more.\n"
            "Hint: private=True has far fewer breakpoints; or raise max_bytes here and in load."
        )
    try:
        with atomic_file(check_output(path, overwrite=True), overwrite=overwrite) as temporary:
            temporary.write_bytes(data)
    except FileExistsError:
        way = argument("overwrite", True)
        raise FileExistsError(
            f"{os.fspath(path)!r} exists and is not overwritten.\nHint: another name, or {way}."
        ) from None
    return hashlib.sha256(data).hexdigest()


def dumps(model: MapFile) -> bytes:
    """Return the bytes of a map file; equal models give equal bytes, and what could not be loaded is refused here."""
    content = model.to_json()
    try:
        texts = {key: _canonical(value) for key, value in content.items() if key != "checksum"}
    except ValueError:  # Python itself writes out no whole number of thousands of digits
        raise ModelFileError(
            "it would hold a number that is not finite, or a whole one of more than 64 bits.\nHint: look at the fit."
        ) from None
    texts["checksum"] = _canonical(_digest(texts))
    lines = [f"{_canonical(key)}: {texts[key]}" for key in sorted(texts)]
    data = ("{\n" + ",\n".join(lines) + "\n}\n").encode("utf-8")
    checked(_parse(data))
    return data


def loads(data: bytes) -> MapFile:
    """Read the bytes of a map file; refuse all but a complete, unchanged one of this schema version."""
    _check_parts(data)
    content = _parse(data)
    _check_version(content)
    model = checked(content)
    if content["checksum"] != checksum(content):
        raise ModelFileError(f"the checksum does not fit the content: {shown(content['checksum'])}.\n{CHANGED}")
    return model


def checksum(content: Object) -> str:
    """Hash everything but the checksum itself, as canonical JSON."""
    return _digest({key: _canonical(value) for key, value in content.items() if key != "checksum"})


def _digest(texts: dict[str, str]) -> str:
    """Hash an object whose values are canonical texts already: long maps are written out once."""
    joined = ",".join(f"{_canonical(key)}:{texts[key]}" for key in sorted(texts))
    try:
        return hashlib.sha256(f"{{{joined}}}".encode()).hexdigest()
    except UnicodeEncodeError:
        raise ModelFileError(
            "it holds a text that is not valid Unicode: half of a surrogate pair.\nHint: repair it at its source."
        ) from None


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _check_parts(data: bytes) -> None:
    """Count what a file is made of before it is built: a few bytes of text can stand for a hundred in memory."""
    if not data.strip():
        raise ModelFileError(f"it is empty.\n{_NO_MODEL}")
    for what, found, most in (
        ("objects and lists", data.count(b"{") + data.count(b"["), MAX_PARTS),
        ("keys", data.count(b":"), MAX_PARTS),
        ("texts", data.count(b'"') // 2, MAX_PARTS),
        ("entries", data.count(b","), max(MAX_PARTS, len(data) // _SHORTEST)),
    ):
        if found > most:
            raise ModelFileError(f"it has {found} {what}, more than any model ({most}).\n{_NO_MODEL}")


def _parse(data: bytes) -> Object:
    """Parse JSON in which no key comes twice, no number is NaN or infinite, and whole ones have 64 bits at most."""
    hooks: Object = {"object_pairs_hook": _distinct, "parse_constant": _no_constant, "parse_int": _whole}
    try:
        content = json.loads(data.decode("utf-8"), **hooks)
    except ModelFileError:
        raise
    except UnicodeDecodeError as error:
        raise ModelFileError(f"it is not UTF-8 text (byte {error.start}).\n{_NO_MODEL}") from error
    except RecursionError:
        raise ModelFileError(f"it is nested too deeply to be a model.\n{_NO_MODEL}") from None
    except ValueError as error:
        raise ModelFileError(f"it is not JSON: {error}.\n{_NO_MODEL}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f'it is JSON, but no model of fairpot: no "format": "{FORMAT}" in it.\n{_NO_MODEL}')
    return content


def _distinct(pairs: list[tuple[str, Any]]) -> Object:
    """Make an object, refusing a key that comes twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ModelFileError(f"the key {shown(twice)} comes twice in one object.\n{CHANGED}")
    return made


def _whole(digits: str) -> int:
    """Read a whole number that others than Python can read too."""
    if len(digits) > _MOST_DIGITS or not -(2**63) <= (value := int(digits)) < 2**64:
        raise ModelFileError(f"it holds a whole number of more than 64 bits, {shown(digits)}.\n{CHANGED}")
    return value


def _no_constant(token: str) -> NoReturn:
    raise ModelFileError(
        f"it holds {token}, which is no finite number (and not JSON).\n"
        "Hint: NaN and infinity have no place in a model; look at the fit."
    )


def _check_version(content: Object) -> None:
    version, wrote, how = (content.get(key) for key in ("schema_version", "fitted_on", "apply"))
    if type(version) is not int or version != SCHEMA_VERSION:
        wrote = wrote.get("library_version") if isinstance(wrote, dict) else None
        by = "" if wrote is None else f" (written by fairpot {shown(wrote)})"
        older = type(version) is int and version == 1
        way = "load and save it with fairpot 0.2" if older else "load it with the fairpot that wrote it"
        refuse("schema_version", f"{SCHEMA_VERSION}{by}", version, f"Hint: {way}, or fit and save the model again.")
    if isinstance(how, dict) and how.get("kind") in ("top_of_batch", "barycentre_of_batch"):  # of 0.2
        raise ModelFileError(
            "these maps are made anew from each batch that they are applied to, which fairpot no longer does.\n"
            "Hint: fit and save again; the maps are then those of the fitted rows."
        )
    maps = content.get("maps")
    own = [each.get("map") for each in maps if isinstance(each, dict)] if isinstance(maps, list) else []
    if any(isinstance(each, dict) and each.get("kind") == "sigmoid" for each in own):  # of 0.2
        raise ModelFileError(
            "these maps are sigmoids, which fairpot no longer applies.\n"
            f"Hint: PostLogit {WHERE}; fit and save with it again."
        )
