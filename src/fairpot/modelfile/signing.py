"""Signing model files and verifying their signatures."""

from __future__ import annotations

import os
from os import PathLike
from pathlib import Path

from fairpot.files.output import complete_file
from fairpot.modelfile.files import MAX_BYTES, naming
from fairpot.modelfile.reading import bytes_of
from fairpot.modelfile.signatures import Signature, check_signature, make_signature, read_key, signature_path
from fairpot.modelfile.text import loads

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
    with complete_file(target, force=overwrite, inputs=[Path(path), Path(key)]) as place:
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
