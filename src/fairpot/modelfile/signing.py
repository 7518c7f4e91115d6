"""Signatures of model files: who has the key can tell whether a file is the one that was signed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from fairpot._optional import import_optional
from fairpot.exceptions import ModelFileError, SignatureError
from fairpot.modelfile.json_schema import Schema
from fairpot.modelfile.keys import ALGORITHMS, HMAC, Key, Name, read_key
from fairpot.modelfile.text import MAX_BYTES, bytes_of, check_hash, loads, naming, strict_json
from fairpot.rows.output import complete_file

FORMAT = "fairpot-signature"


def _hexadecimal(*digits: int) -> dict[str, Any]:
    told = " or ".join(map(str, digits))
    allowed = "|".join(f"[0-9a-f]{{{each}}}" for each in digits)
    return {"type": "string", "title": f"{told} hexadecimal digits", "pattern": f"^({allowed})$"}


_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["algorithm", "file_sha256", "format", "key_id", "schema_version", "signature"],
    "properties": {
        "algorithm": {"enum": list(ALGORITHMS)},
        "file_sha256": _hexadecimal(64),
        "format": {"const": FORMAT},
        "key_id": _hexadecimal(16),
        "schema_version": {"const": 1},
        "signature": _hexadecimal(64, 128),
    },
}
_MAX_SIGNATURE = 10_000
_GET_IT = "Hint: get the file and its signature from its owner again."


class Signature(NamedTuple):
    """Hold what a signature says: algorithm, key, hash of the signed file, and where the signature is.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import fairpot
    >>> from fairpot import modelfile
    >>> score, sex = range(40), ["F", "M"] * 20
    >>> repair = fairpot.FairPOT(lam=0.5, reference="M").fit(score, sensitive_features=sex)
    >>> path = Path(mkdtemp()) / "map.json"
    >>> repair.save(path)
    >>> key = modelfile.new_key(path.with_name("key"))
    >>> found = modelfile.sign(path, path.with_name("key"))
    >>> found.algorithm, found.key_id == key.id, found.path.name
    ('hmac-sha256', True, 'map.json.sig')
    """

    algorithm: str
    key_id: str
    file_sha256: str
    path: Path


def signature_path(path: str | PathLike[str]) -> Path:
    """Return where the signature of a file stands: beside it, with .sig after its name."""
    return Path(os.fspath(path) + ".sig")


def make_signature(data: bytes, key: Key) -> bytes:
    """Return the text of the signature file for a file's bytes."""
    if key.secret is None:
        raise SignatureError("this is a public key, which can verify but not sign.\nHint: name the private key.")
    digest = hashlib.sha256(data).hexdigest()
    message = _message(key.algorithm, digest)
    made = hmac.new(key.secret, message, hashlib.sha256).digest() if key.algorithm == HMAC else key.secret.sign(message)
    content = {
        "algorithm": key.algorithm,
        "file_sha256": digest,
        "format": FORMAT,
        "key_id": key.id,
        "schema_version": 1,
        "signature": made.hex(),
    }
    return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def check_signature(data: bytes, path: Path, key: Key) -> Signature:
    """Insist that the signature at ``path`` is that of these bytes under this key.

    Raises
    ------
    SignatureError
        If there is none, it was made with another key or for another file, or is no signature at all.
    """
    content = _read_signature(path)
    if content["algorithm"] != key.algorithm:
        raise SignatureError(
            f"the signature {path.name!r} is of the kind {content['algorithm']}, the key of the kind {key.algorithm}.\n"
            "Hint: name the key that belongs to it."
        )
    digest = hashlib.sha256(data).hexdigest()
    good = _fits(bytes.fromhex(content["signature"]), _message(key.algorithm, digest), key)
    why = None if good else "the file is not the one that was signed"
    if not hmac.compare_digest(content["key_id"], key.id):
        why = "its key_id was changed" if good else "it was made with another key"
    elif good and not hmac.compare_digest(content["file_sha256"], digest):
        why = "its file_sha256 was changed"
    if why is not None:
        raise SignatureError(
            f"the signature {path.name!r} does not fit: {why}.\nHint: do not use the file; get it from its owner again."
        )
    return Signature(key.algorithm, key.id, digest, path)


def _message(algorithm: str, digest: str) -> bytes:
    return f"{FORMAT}-1\n{algorithm}\n{digest}\n".encode()


def _fits(signature: bytes, message: bytes, key: Key) -> bool:
    if key.algorithm == HMAC:
        return hmac.compare_digest(signature, hmac.new(key.secret, message, hashlib.sha256).digest())
    invalid = import_optional("cryptography.exceptions", "sign").InvalidSignature
    try:
        key.public.verify(signature, message)
    except invalid:
        return False
    return True


def _read_signature(path: Path) -> dict[str, Any]:
    try:
        text = bytes_of(str(path), _MAX_SIGNATURE, "Hint: fairpot sign writes signatures.")
        content: dict[str, Any] = strict_json(text)
        Schema(_SCHEMA, "it").check(content)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ModelFileError) else f"it is no signature of fairpot.\n{_GET_IT}"
        raise SignatureError(f"the signature {str(path)!r} cannot be used: {reason}") from error
    return content


def sign(path: Name, key: Name, *, overwrite: bool = False, max_bytes: int = MAX_BYTES) -> Signature:
    """Sign a map file; the signature goes into a file beside it, the map file does not change.

    Parameters
    ----------
    path : str or path
        The map file. It is checked first: what would not be loaded is not signed.
    key : str or path
        The file of the key, as :func:`new_key` writes it: a shared secret (HMAC-SHA256), or an Ed25519 private key in
        PEM form, which needs the extra ``sign``.
    overwrite : bool, default False
        Whether an existing signature is replaced.
    max_bytes : int, default 100,000,000
        A larger map file is refused.

    Returns
    -------
    Signature
        ``algorithm``, ``key_id``, ``file_sha256`` and the ``path`` of the signature.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import fairpot
    >>> from fairpot import modelfile
    >>> score, sex = range(40), ["F", "M"] * 20
    >>> repair = fairpot.FairPOT(lam=0.5, reference="M").fit(score, sensitive_features=sex)
    >>> path = Path(mkdtemp()) / "map.json"
    >>> repair.save(path)
    >>> key = modelfile.new_key(path.with_name("key"))
    >>> modelfile.sign(path, path.with_name("key")).path.name
    'map.json.sig'
    """
    with naming(path):
        data = bytes_of(os.fspath(path), max_bytes)
        loads(data)
    made = read_key(key)
    text = make_signature(data, made)
    target = signature_path(path)
    with complete_file(target, overwrite=overwrite, inputs=[Path(path), Path(key)]) as place:
        place.write_bytes(text)
    return check_signature(data, target, made)


def verify(path: Name, key: Name, *, expect_sha256: str | None = None, max_bytes: int = MAX_BYTES) -> Signature:
    """Check the signature beside a map file.

    Parameters
    ----------
    path : str or path
        The map file; its signature is ``path`` with .sig after the name.
    key : str or path
        The file of the key: the same secret, or the Ed25519 public key in PEM form.
    expect_sha256 : str or None, default None
        The SHA-256 of the file; another file is refused.
    max_bytes : int, default 100,000,000
        A larger map file is refused.

    Returns
    -------
    Signature

    Raises
    ------
    SignatureError
        If the file is not the one that was signed with this key. ``fairpot.load(path, key=...)`` verifies and
        loads the same bytes, in case somebody replaces the file in between.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> import fairpot
    >>> from fairpot import modelfile
    >>> score, sex = range(40), ["F", "M"] * 20
    >>> repair = fairpot.FairPOT(lam=0.5, reference="M").fit(score, sensitive_features=sex)
    >>> path = Path(mkdtemp()) / "map.json"
    >>> repair.save(path)
    >>> key = modelfile.new_key(path.with_name("key"))
    >>> _ = modelfile.sign(path, path.with_name("key"))
    >>> modelfile.verify(path, path.with_name("key")).algorithm
    'hmac-sha256'
    """
    with naming(path):
        data = bytes_of(os.fspath(path), max_bytes)
        if expect_sha256 is not None:
            check_hash(data, expect_sha256)
    return check_signature(data, signature_path(path), read_key(key))
