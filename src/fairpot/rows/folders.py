"""The files behind paths, folders and patterns; links and what is no file are refused."""

from __future__ import annotations

import fnmatch
import glob
import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from fairpot._arguments import argument
from fairpot._validation import wording
from fairpot.exceptions import InputFileError
from fairpot.rows.formats.layout import WORKBOOKS, format_of_name, known_endings

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
_DEEPEST = 100  # folders inside of each other


def expanded(path: Paths, any_name: bool, follow_links: bool) -> list[Path]:
    """List the files behind paths, folders and patterns, sorted and each once."""
    found = [file for item in listed(path) for file in _files_of(os.fspath(item), any_name, follow_links)]
    if not found:
        raise InputFileError("no file is named.\nHint: give a path, a folder or a pattern.")
    return list(dict.fromkeys(found))


def _files_of(item: str, any_name: bool, follow_links: bool) -> list[Path]:
    path = Path(item)
    if path.is_dir():
        files = files_inside(path, any_name=any_name, follow_links=follow_links)
        if not files:
            raise InputFileError(f"the folder {item} holds no file to read.\nHint: known are {known_endings()}.")
        return files
    if path.exists():
        return [path]
    if not glob.has_magic(item):
        raise InputFileError(f"{item} was not found.\nHint: check the path; it is taken from {Path.cwd()}.")
    fixed = sum(1 for _ in itertools.takewhile(lambda part: not glob.has_magic(part), path.parts))
    try:
        matched = sorted(Path(p) for p in glob.glob(item, recursive=True) if not Path(p).is_dir())
    except RecursionError:
        raise InputFileError(f"{item!r} leads through too many folders.\nHint: name the folder itself.") from None
    if not matched:
        raise InputFileError(f"no file matches {item!r}.\nHint: check the path; it is taken from {Path.cwd()}.")
    _refuse_links([] if follow_links else [p for p in matched if _is_linked(p, fixed)], item)
    _refuse_special([p for p in matched if not p.is_file()], item)
    return matched


def files_inside(folder: Path, *, any_name: bool, follow_links: bool) -> list[Path]:
    """List the files of a folder that are read, sorted; a link, and what is no file, is an error."""
    found, links, seen = [], [], {os.path.realpath(folder)}
    for here, inside, names in os.walk(folder, onerror=_refuse_unread, followlinks=follow_links):
        if len(Path(here).parts) - len(folder.parts) > _DEEPEST:
            raise InputFileError(
                f"{folder} has folders nested deeper than {_DEEPEST}.\nHint: name the folder that holds the files."
            )
        inside[:] = sorted(name for name in inside if not name.startswith((".", "_")))
        links += [Path(here, name) for name in inside if os.path.islink(os.path.join(here, name))]
        if follow_links:  # a folder that was seen before may lead to itself
            real = {name: os.path.realpath(os.path.join(here, name)) for name in inside}
            inside[:] = [name for name in inside if real[name] not in seen]
            seen.update(real.values())
        paths = [Path(here, name) for name in names if not name.startswith((".", "_"))]
        found += [p for p in paths if any_name or format_of_name(p) or p.suffix.lower() in WORKBOOKS]
    _refuse_links([] if follow_links else [*links, *(p for p in found if p.is_symlink())], str(folder))
    _refuse_special([p for p in found if not p.is_file()], str(folder))
    return sorted(found)


def _refuse_unread(error: OSError) -> None:
    raise InputFileError(
        f"the folder {error.filename} cannot be read: {error.strerror}.\nHint: look who may read it, or remove it."
    ) from error


def _is_linked(path: Path, fixed: int) -> bool:
    """Whether a path that a pattern fits is a link, or lies behind one, in the parts that the pattern left open."""
    return any(Path(*path.parts[:end]).is_symlink() for end in range(fixed + 1, len(path.parts) + 1))


def _refuse_links(links: Sequence[Path], where: str) -> None:
    if links:
        raise InputFileError(
            f"{where} holds {wording.counted(len(links), 'link')}, such as {links[0]}: a link may lead to any file.\n"
            f"Hint: remove it, name the file itself, or {argument('follow_links', True)} to follow links."
        )


def _refuse_special(files: Sequence[Path], where: str) -> None:
    if files:
        raise InputFileError(
            f"{where} holds something that is not a file, such as {files[0]}: a pipe, a socket, a device or a broken "
            "link.\n"
            "Hint: remove it; a pipe can be named by itself."
        )


def would_read(paths: Paths | None, target: str | os.PathLike[str]) -> bool:
    """Whether a new file would be among the rows the next time: it lies in a folder, or fits a pattern, of these."""
    places = {os.path.abspath(target), os.path.realpath(target)}
    return any(_takes_in(os.fspath(item), place) for item in listed(paths) for place in places)


def listed(paths: Paths | None) -> list[str | os.PathLike[str]]:
    """List paths, of which there may be one, several or none."""
    return [paths] if isinstance(paths, str | os.PathLike) else list(paths or ())


def _takes_in(item: str, place: str) -> bool:
    """Whether a folder holds a place, or a pattern fits it, as they are named or with links followed."""
    if os.path.isdir(item):
        return any(Path(place).is_relative_to(folder) for folder in (os.path.abspath(item), os.path.realpath(item)))
    if os.path.exists(item) or not glob.has_magic(item):
        return False
    parts = Path(os.path.abspath(item)).parts
    plain = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    heads = {Path(*parts[:plain]), Path(os.path.realpath(Path(*parts[:plain])))}
    return any(_fits([*head.parts, *parts[plain:]], Path(place).parts) for head in heads)


def _fits(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the parts of a path fit those of a pattern, in which ``**`` is any number of folders."""
    if not pattern or not parts:
        return not parts and all(part == "**" for part in pattern)
    if pattern[0] == "**":
        return _fits(pattern[1:], parts) or _fits(pattern, parts[1:])
    same = fnmatch.fnmatchcase(parts[0], pattern[0]) if glob.has_magic(pattern[0]) else parts[0] == pattern[0]
    return same and _fits(pattern[1:], parts[1:])
