"""Signatures of model files: who has the key can tell whether a file is the one that was signed."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import stat
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from fairpot._optional import import_optional
from fairpot._warn import warn_user
from fairpot.exceptions import FairpotWarning, ModelFileError, SignatureError
from fairpot.files.output import complete_file
from fairpot.modelfile.json_schema import Schema
from fairpot.modelfile.text import MAX_BYTES, bytes_of, loads, naming

FORMAT = "fairpot-signature"
HMAC, ED25519 = "hmac-sha256", "ed25519"
_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "required": ["algorithm", "file_sha256", "format", "key_id", "schema_version", "signature"],
    "properties": {
        "algorithm": {"enum": [HMAC, ED25519]},
        "file_sha256": {},  # for people: the file is hashed anew
        "format": {"const": FORMAT},
        "key_id": {"type": "string", "maxLength": 10_000},
        "schema_version": {"const": 1},
        "signature": {"type": "string", "maxLength": 10_000},
    },
}
_MAX_SIGNATURE, _MAX_KEY, _MIN_KEY = 10_000, 100_000, 32
_KEY_HINT = "Hint: name a file with a key; docs/model-file.md says how to make one."


class Key(NamedTuple):
    """A key from a file: the bytes of a shared secret, or an Ed25519 key of the package cryptography."""

    algorithm: str
    secret: Any  # what signs, or None: a public key verifies only
    public: Any

    @property
    def id(self) -> str:
        """Name the key without giving it away."""
        if self.algorithm == HMAC:
            return hmac.new(self.secret, b"fairpot-key-1", hashlib.sha256).hexdigest()[:16]
        return hashlib.sha256(self.public.public_bytes_raw()).hexdigest()[:16]


class Signature(NamedTuple):
    """What a signature says."""

    algorithm: str
    key_id: str
    file_sha256: str
    path: Path


def signature_path(path: str | PathLike[str]) -> Path:
    """Return where the signature of a file stands: beside it, with .sig after its name."""
    return Path(os.fspath(path) + ".sig")


def read_key(path: str | PathLike[str]) -> Key:
    """Read a key from a file: a PEM file is an Ed25519 key, anything else a shared secret of at least 32 bytes.

    The kind of the key decides how a signature is checked, never the signature itself. Line ends after a
    secret do not belong to it.
    """
    where = os.fspath(path)
    try:
        data = bytes_of(where, _MAX_KEY, _KEY_HINT)
    except ModelFileError as error:
        raise SignatureError(f"the key {where!r} cannot be used: {error}") from error
    if data.lstrip().startswith(b"-----BEGIN"):
        key = _pem_key(data, where)
    else:
        secret = data.rstrip(b"\r\n")
        if len(secret) < _MIN_KEY:
            raise SignatureError(
                f"the key {where!r} has {len(secret)} bytes, fewer than {_MIN_KEY}: it could be guessed.\n{_KEY_HINT}"
            )
        key = Key(HMAC, secret, None)
    _warn_of_rights(key, where)
    return key


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
    if not _fits(bytes.fromhex(content["signature"]), _message(key.algorithm, digest), key):
        other = not hmac.compare_digest(content["key_id"].encode(), key.id.encode())
        why = "it was made with another key" if other else "the file is not the one that was signed"
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
        content: dict[str, Any] = json.loads(text.decode("utf-8"))
        Schema(_SCHEMA, "it").check(content)
        bytes.fromhex(content["signature"])
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ModelFileError) else "it is no signature of fairpot."
        raise SignatureError(f"the signature {str(path)!r} cannot be used: {reason}") from error
    return content


def _pem_key(data: bytes, where: str) -> Key:
    """Read an Ed25519 key, private or public."""
    serialization = import_optional("cryptography.hazmat.primitives.serialization", "sign")
    ed25519 = import_optional("cryptography.hazmat.primitives.asymmetric.ed25519", "sign")
    try:
        private = b"PRIVATE KEY" in data
        found = serialization.load_pem_private_key(data, None) if private else serialization.load_pem_public_key(data)
    except Exception as error:  # each kind of damage has its own type there
        raise SignatureError(
            f"the key {where!r} cannot be read: it is damaged, or has a password.\n{_KEY_HINT}"
        ) from error
    if isinstance(found, ed25519.Ed25519PrivateKey):
        return Key(ED25519, found, found.public_key())
    if isinstance(found, ed25519.Ed25519PublicKey):
        return Key(ED25519, None, found)
    raise SignatureError(f"the key {where!r} is no Ed25519 key.\n{_KEY_HINT}")


def _warn_of_rights(key: Key, where: str) -> None:
    """Say so if others may read a secret."""
    if key.secret is not None and os.name == "posix" and stat.S_IMODE(os.stat(where).st_mode) & 0o077:
        warn_user(f"others than its owner may use the key {where!r}.\nHint: chmod 600 {where}", FairpotWarning)


Name = str | PathLike[str]


def sign(path: Name, key: Name, *, overwrite: bool = False, max_bytes: int = MAX_BYTES) -> Signature:
    """Sign a model file; the signature goes into a file beside it, the model file stays as it is.

    Parameters
    ----------
    path : str or path
        The model file. It is checked first: what would not be loaded is not signed.
    key : str or path
        The file of the key: a secret of at least 32 bytes (HMAC-SHA256), or an Ed25519 private key in PEM form, which
        needs the extra ``sign``.
    overwrite : bool, default False
        Whether a signature that is there already is replaced.
    max_bytes : int, default 100,000,000

    Returns
    -------
    Signature
        ``algorithm``, ``key_id``, ``file_sha256`` and the ``path`` of the signature.

    Examples
    --------
    >>> import os, secrets, tempfile
    >>> from pathlib import Path
    >>> import fairpot
    >>> from fairpot import modelfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> fairpot.FairPOT(0.5, reference="M").fit(range(40), sensitive_features=["F", "M"] * 20).save(folder / "map.json")
    >>> with open(os.open(folder / "key", os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
    ...     written = file.write(secrets.token_hex(32))
    >>> modelfile.sign(folder / "map.json", folder / "key").path.name
    'map.json.sig'
    >>> modelfile.verify(folder / "map.json", folder / "key").algorithm
    'hmac-sha256'
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


def verify(path: Name, key: Name, *, max_bytes: int = MAX_BYTES) -> Signature:
    """Check the signature beside a model file.

    Parameters
    ----------
    path : str or path
        The model file; its signature is ``path`` with .sig after the name.
    key : str or path
        The file of the key: the same secret, or the Ed25519 public key in PEM form.
    max_bytes : int, default 100,000,000

    Returns
    -------
    Signature

    Raises
    ------
    SignatureError
        If the file is not the one that was signed with this key. ``fairpot.load(path, key=...)`` verifies and
        loads the same bytes, in case somebody replaces the file in between.
    """
    with naming(path):
        data = bytes_of(os.fspath(path), max_bytes)
    return check_signature(data, signature_path(path), read_key(key))
