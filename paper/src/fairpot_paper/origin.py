"""What a folder of results was made with: noted down once, and never mixed with anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fairpot.exceptions import InputFileError
from fairpot_paper.running.records import check_same_origin
from fairpot.files.output import atomic_file

_NAME = "origin.json"


def is_quick(folder: Path) -> bool:
    """Tell whether a folder holds the quick version; a folder without a note does not."""
    return bool(_read(folder).get("quick", False))


def claim_folder(folder: Path, versions: dict[str, str], quick: bool) -> None:
    """Note down what a folder's results are made with, and refuse to add others to them."""
    then = _read(folder)
    if not then:
        folder.mkdir(parents=True, exist_ok=True)
        with atomic_file(folder / _NAME) as temporary:
            note = {"versions": versions, "quick": quick}
            temporary.write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
        return
    check_same_origin([then], versions)
    if then["quick"] != quick:
        kinds = ("a quick run", "a full run") if then["quick"] else ("a full run", "a quick run")
        raise ValueError(f"the folder {folder} holds {kinds[0]}, and this is {kinds[1]}.\nHint: name another folder.")


def _read(folder: Path) -> dict[str, Any]:
    """Read the note; empty if there is none."""
    place = folder / _NAME
    if not place.exists():
        return {}
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        return {"versions": dict(found["versions"]), "quick": bool(found["quick"])}
    except (ValueError, KeyError, TypeError) as error:
        raise InputFileError(
            f"{place} is damaged: it does not say what made the results beside it.\nHint: start in another folder."
        ) from error
