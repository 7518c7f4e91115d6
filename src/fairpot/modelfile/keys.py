"""Keys that say what they are: a shared secret under its own header, or an Ed25519 key in PEM; nothing else."""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import secrets
import stat
from os import PathLike
from typing import Any, NamedTuple

from fairpot._optional import import_optional
from fairpot._warn import warn_user
from fairpot.exceptions import FairpotWarning, ModelFileError, SignatureError
from fairpot.modelfile.text import bytes_of
from fairpot.rows.output import complete_file

HMAC, ED25519 = "hmac-sha256", "ed25519"
ALGORITHMS = (HMAC, ED25519)
HEADER = b"fairpot-secret-1:"
_MAX_KEY, _MIN_SECRET, _MAX_SECRET = 100_000, 32, 4096
_FEWEST_BYTES = 8  # that differ; of 32 at random there are 24 and more
_SECRET = re.compile(rb"%b([0-9a-f]{%d,%d})[\r\n]*" % (HEADER, 2 * _MIN_SECRET, 2 * _MAX_SECRET))
_PEM = re.compile(rb"-----BEGIN (PRIVATE|PUBLIC) KEY-----[A-Za-z0-9+/=\s]+-----END \1 KEY-----\s*")
_NEW = "fairpot sign --new-key FILE makes a key (--algorithm ed25519: a pair)"
_PRIVATE = "openssl pkey -in KEY -out private.pem"
_PUBLIC = "openssl pkey -pubin -in KEY -out public.pem"
Name = str | PathLike[str]


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


def read_key(path: Name) -> Key:
    """Read a key from a file that says what it is.

    A shared secret is the one line that :func:`new_key` writes; an Ed25519 key is one PEM block, and nothing else in
    the file. Any other file is refused by the name of what it looks like, so that a public key is never taken for a
    secret. The kind of the key decides how a signature is checked, never the signature itself.

    Parameters
    ----------
    path : str or path
        The file of the key.

    Returns
    -------
    Key
        Its ``algorithm`` and its ``id``, and the key itself.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from fairpot import modelfile
    >>> path = Path(mkdtemp()) / "team.key"
    >>> made = modelfile.new_key(path)
    >>> modelfile.read_key(path).id == made.id
    True
    """
    where = os.fspath(path)
    data = _bytes(where)
    found = _SECRET.fullmatch(data)
    if found and len(found[1]) % 2 == 0:
        key = Key(HMAC, bytes.fromhex(found[1].decode()), None)
    elif _PEM.fullmatch(data):
        key = _pem_key(data, where)
    else:
        what, way_out = _shape(data) or (
            f"{len(data)} bytes without a header, perhaps a secret of an earlier version",
            f"fairpot sign --new-key NEW --from-secret {where} keeps it under the header; {_NEW}",
        )
        raise SignatureError(f"the key {where!r} cannot be used: it is {what}.\nHint: {way_out}.")
    _warn_of_rights(key, where)
    return key


def new_key(path: Name, algorithm: str = HMAC, *, from_secret: Name | None = None) -> Key:
    """Write a new key that only its owner may read; of a pair, the public key goes to ``path`` with .pub after it.

    Parameters
    ----------
    path : str or path
        Where the secret or private key goes; a file that exists is not replaced.
    algorithm : {"hmac-sha256", "ed25519"}, default "hmac-sha256"
        A shared secret, or a pair of keys, which needs the extra ``sign``.
    from_secret : str, path or None, default None
        Take over the secret of an earlier version, a file of at least 32 bytes without a header: what was signed with
        it stays good. A file that looks like a public key, a certificate or data is refused.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from fairpot import modelfile
    >>> path = Path(tempfile.mkdtemp()) / "team.key"
    >>> modelfile.new_key(path).algorithm
    'hmac-sha256'
    >>> path.read_text()[:17]
    'fairpot-secret-1:'
    """
    if algorithm not in ALGORITHMS or (algorithm == ED25519 and from_secret is not None):
        allowed = HMAC if from_secret is not None else " or ".join(ALGORITHMS)
        raise SignatureError(f"algorithm must be {allowed}, got {algorithm!r}.")
    where = os.fspath(path)
    for place in (where, f"{where}.pub"):
        if os.path.lexists(place) and (algorithm == ED25519 or place == where):
            raise SignatureError(f"{place!r} exists, and a key is not overwritten.\nHint: name another file.")
    if algorithm == HMAC:
        secret = secrets.token_bytes(32) if from_secret is None else _old_secret(os.fspath(from_secret))
        _write(where, HEADER + secret.hex().encode() + b"\n", private=True)
    else:
        private, public = _pair()
        _write(where, private, private=True)
        try:
            _write(f"{where}.pub", public, private=False)
        except BaseException:
            os.unlink(where)  # half a pair is of no use
            raise
    return read_key(where)


def _bytes(where: str) -> bytes:
    try:
        return bytes_of(where, _MAX_KEY, f"Hint: {_NEW}.")
    except ModelFileError as error:
        raise SignatureError(f"the key {where!r} cannot be used: {error}") from error


def _write(where: str, data: bytes, *, private: bool) -> None:
    with complete_file(where, private=private) as place:
        place.write_bytes(data)


def _old_secret(where: str) -> bytes:
    """Read a secret that has no header; refuse what can be told to be something else."""
    data = _bytes(where)
    what, way_out = _shape(data) or ("", "")
    if _SECRET.fullmatch(data) or _PEM.fullmatch(data):
        what, way_out = "a key that says what it is", "use it as it is"
    secret = data.rstrip(b"\r\n")
    if not what and len(secret) > _MAX_SECRET:
        what, way_out = f"{len(secret)} bytes long, more than {_MAX_SECRET}", _NEW
    if what:
        raise SignatureError(f"{where!r} is no secret of an earlier version: it is {what}.\nHint: {way_out}.")
    return secret


def _shape(data: bytes) -> tuple[str, str] | None:
    """Name what a file is, if it is no key that can be used, and the way out; None for bytes that say nothing."""
    if not data.strip():
        return "empty", _NEW
    for starts, what, way_out in _SHAPES:
        if data.startswith(starts) or (starts == HEADER and data.lower().startswith(b"fairpot-secret-")):
            return what, way_out
    kind = re.search(rb"-----BEGIN ([A-Z0-9 ]{1,40})-----", data)
    if kind is not None:
        return _block(kind[1].decode(), first=data.startswith(b"-----BEGIN"))
    if _is_der(data):
        return (
            "in DER form (a key or certificate in binary)",
            f"turn it into PEM: {_PUBLIC} (or, if private, {_PRIVATE})",
        )
    if _is_text(data) and (len(data.split()) > 1 or max(map(data.count, (b",", b";"))) > 1):
        return "text of several lines or words, such as data", _NEW
    if _is_der(_decoded(data)):
        return "a key or certificate in DER form, written as text", "put it between the lines of a PEM file"
    if len(data.rstrip(b"\r\n")) < _MIN_SECRET:
        return f"{len(data.rstrip())} bytes long, fewer than {_MIN_SECRET}: it could be guessed", _NEW
    if len(set(data)) < _FEWEST_BYTES:
        return f"of {len(set(data))} different bytes, fewer than {_FEWEST_BYTES}: it could be guessed", _NEW
    return None


_SHAPES: list[tuple[bytes | tuple[bytes, ...], str, str]] = [
    (
        HEADER,
        "a damaged secret: after the header fairpot-secret-1: must come 64 to 8,192 hexadecimal digits, an even number",
        _NEW,
    ),
    (b"\xef\xbb\xbf", "text with a byte-order mark before it", "save it as UTF-8 without one (sed -i '1s/^...//' KEY)"),
    ((b"\xff\xfe", b"\xfe\xff"), "UTF-16 text", "convert it: iconv -f utf-16 -t utf-8 OLD > NEW"),
    ((b"ssh-", b"ecdsa-", b"sk-"), "a public key of SSH", f"keys of SSH are not used; {_NEW}"),
    (b"PuTTY-User-Key-File", "a key of PuTTY", f"keys of PuTTY are not used; {_NEW}"),
    ((b"age1", b"AGE-SECRET-KEY-"), "a key of age", f"keys of age are not used; {_NEW}"),
    (b"untrusted comment:", "a key of minisign or signify", f"such keys are not used; {_NEW}"),
    (b"eyJ", "a token (JWT)", _NEW),
    ((b"<?xml", b"<RSAKeyValue"), "XML", _NEW),
    ((b"GIF8", b"\x89PNG", b"\xff\xd8\xff", b"%PDF", b"\x7fELF", b"MZ"), "a picture, a document or a program", _NEW),
    ((b"{", b"["), "JSON, such as a map or a key of another program", _NEW),
    ((b"PK\x03\x04", b"PAR1", b"ARROW1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"), "data or an archive", _NEW),
]


def _block(kind: str, *, first: bool) -> tuple[str, str]:
    """Name a block of PEM that is not taken as it stands."""
    if kind in ("PRIVATE KEY", "PUBLIC KEY"):
        said = "damaged, or has more in it than one block" if first else "has text before its first line"
        return f"a PEM file that is {said}", f"{_PUBLIC if kind == 'PUBLIC KEY' else _PRIVATE} writes it plain"
    if kind == "ENCRYPTED PRIVATE KEY":
        return "a private key with a password", f"{_PRIVATE} takes the password off"
    if "CERTIFICATE" in kind:
        return "a certificate, not a key", "openssl x509 -in FILE -pubkey -noout > public.pem"
    return f"a block of {kind}", f"only PRIVATE KEY and PUBLIC KEY (Ed25519) are used; {_NEW}"


def _is_der(data: bytes) -> bool:
    """Whether this is a sequence of DER, whose stated length is that of the file."""
    first, stated = (data + b"\0\0")[1], 0
    if data[:1] != b"\x30":
        return False
    if first < 0x80:
        return len(data) == 2 + first
    stated = int.from_bytes(data[2 : 2 + (first & 0x7F)], "big")
    return 0 < first & 0x7F <= 4 and len(data) == 2 + (first & 0x7F) + stated


def _decoded(data: bytes) -> bytes:
    """Return what a line of hexadecimal digits or base64, of either alphabet, stands for; nothing for others."""
    line = data.strip()
    if re.fullmatch(rb"(?:[0-9A-Fa-f]{2})+", line):
        return bytes.fromhex(line.decode())
    plain = line.translate(bytes.maketrans(b"-_", b"+/")).rstrip(b"=")
    if not re.fullmatch(rb"[A-Za-z0-9+/]+", plain) or len(plain) % 4 == 1:
        return b""
    return base64.b64decode(plain + b"=" * (-len(plain) % 4))


def _is_text(data: bytes) -> bool:
    try:
        return not re.search("[\x00-\x08\x0e-\x1f\x7f]", data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _pair() -> tuple[bytes, bytes]:
    """Make an Ed25519 key, private and public, as PEM."""
    form = import_optional("cryptography.hazmat.primitives.serialization", "sign")
    ed25519 = import_optional("cryptography.hazmat.primitives.asymmetric.ed25519", "sign")
    made = ed25519.Ed25519PrivateKey.generate()
    private = made.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption())
    return private, made.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)


def _pem_key(data: bytes, where: str) -> Key:
    """Read an Ed25519 key, private or public."""
    form = import_optional("cryptography.hazmat.primitives.serialization", "sign")
    ed25519 = import_optional("cryptography.hazmat.primitives.asymmetric.ed25519", "sign")
    try:
        private = data.startswith(b"-----BEGIN PRIVATE")
        found = form.load_pem_private_key(data, None) if private else form.load_pem_public_key(data)
    except Exception as error:  # each kind of damage has its own type there
        raise SignatureError(f"the key {where!r} cannot be read: it is damaged.\nHint: {_NEW}.") from error
    if isinstance(found, ed25519.Ed25519PrivateKey):
        return Key(ED25519, found, found.public_key())
    if isinstance(found, ed25519.Ed25519PublicKey):
        return Key(ED25519, None, found)
    raise SignatureError(f"the key {where!r} is no Ed25519 key, the only kind that is used.\nHint: {_NEW}.")


def _warn_of_rights(key: Key, where: str) -> None:
    """Say so if others may read a secret."""
    if key.secret is not None and os.name == "posix" and stat.S_IMODE(os.stat(where).st_mode) & 0o077:
        warn_user(f"others than its owner may use the key {where!r}.\nHint: chmod 600 {where}", FairpotWarning)
