"""Signatures: good ones pass, and whatever is wrong with file, signature or key is named."""

import hashlib
import hmac
import json
import os

import pytest

import fairpot
import modelfile_cases as cases
from fairpot import FairPOT, ModelFileError, modelfile
from fairpot.exceptions import FairpotWarning, SignatureError

KINDS = ["hmac-sha256", "ed25519"]


def write_secret(path, data):
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def pem_pair(folder, name="key"):
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    none, pem = serialization.NoEncryption(), serialization.Encoding.PEM
    secret = private.private_bytes(pem, serialization.PrivateFormat.PKCS8, none)
    public = private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.pub").write_bytes(public)
    return write_secret(folder / f"{name}.pem", secret), folder / f"{name}.pub"


def key_pair(kind, folder, name="key"):
    if kind == "ed25519":
        return pem_pair(folder, name)
    secret = write_secret(folder / name, os.urandom(16).hex().encode() + b"\n")
    return secret, secret


@pytest.fixture
def path(tmp_path):
    made = tmp_path / "map.json"
    cases.make_data().fit(FairPOT(0.4)).save(made)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_sign_and_verify(path, tmp_path, kind):
    before = path.read_bytes()
    secret, public = key_pair(kind, tmp_path)
    made = modelfile.sign(path, secret)
    assert path.read_bytes() == before
    assert made.path == tmp_path / "map.json.sig"
    assert made.file_sha256 == hashlib.sha256(before).hexdigest()
    assert modelfile.verify(path, public) == modelfile.verify(path, secret) == made
    assert made.algorithm == kind
    assert fairpot.load(path, key=public).method_ == "FairPOT"
    with pytest.raises(ValueError, match="is there already"):
        modelfile.sign(path, secret)
    modelfile.sign(path, secret, overwrite=True)


def test_the_signature_is_what_the_docs_say(path, tmp_path):
    secret = write_secret(tmp_path / "key", b"0123456789abcdef0123456789abcdef\r\n")
    modelfile.sign(path, secret)
    found = json.loads((tmp_path / "map.json.sig").read_text())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    message = f"fairpot-signature-1\nhmac-sha256\n{digest}\n".encode()
    assert found["signature"] == hmac.new(b"0123456789abcdef0123456789abcdef", message, "sha256").hexdigest()
    assert "0123456789abcdef" not in json.dumps(found | {"file_sha256": "", "signature": ""})


@pytest.mark.parametrize("kind", KINDS)
def test_another_file_or_key(path, tmp_path, kind):
    secret, public = key_pair(kind, tmp_path)
    _, other = key_pair(kind, tmp_path, "other")
    modelfile.sign(path, secret)
    for check in (modelfile.verify, lambda p, k: fairpot.load(p, key=k)):
        with pytest.raises(SignatureError, match=r"made with another key(.|\n)*Hint: do not use"):
            check(path, other)
    cases.make_data().fit(FairPOT(0.9)).save(path, overwrite=True)
    for check in (modelfile.verify, lambda p, k: fairpot.load(p, key=k)):
        with pytest.raises(SignatureError, match="not the one that was signed"):
            check(path, public)


def test_the_key_decides_how_a_signature_is_checked(path, tmp_path):
    """A public key is no secret: used as one, it must not make a signature good."""
    secret, public = pem_pair(tmp_path)
    modelfile.sign(path, secret)
    found = json.loads((tmp_path / "map.json.sig").read_text())
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    message = f"fairpot-signature-1\nhmac-sha256\n{digest}\n".encode()
    forged = hmac.new(public.read_bytes().rstrip(b"\r\n"), message, "sha256").hexdigest()
    (tmp_path / "map.json.sig").write_text(json.dumps(found | {"algorithm": "hmac-sha256", "signature": forged}))
    with pytest.raises(SignatureError, match="of the kind hmac-sha256, the key of the kind ed25519"):
        modelfile.verify(path, public)


@pytest.mark.parametrize("kind", KINDS)
def test_every_damaged_signature_is_refused(path, tmp_path, kind):
    secret, public = key_pair(kind, tmp_path)
    modelfile.sign(path, secret)
    target = tmp_path / "map.json.sig"
    good = json.loads(target.read_text())
    for key, value in good.items():
        others = {"signature": [value[:-1] if isinstance(value, str) else 0, "", "zz", None, 5, "00" * 32, "é" * 64]}
        for wrong in others.get(key, [None, [], {}, 1e999, "x" * 20_000] + ([] if key in ("file_sha256",) else [99])):
            if key in ("key_id", "file_sha256") and isinstance(wrong, str):
                continue  # for people, and not trusted: the file is hashed anew
            if key == "file_sha256":
                continue
            target.write_text(json.dumps(good | {key: wrong}))
            with pytest.raises(SignatureError):
                modelfile.verify(path, public)
    for text in (b"", b"[]", b"{}", b"\xff", b"[" * 9000, b'{"a":' * 1500, json.dumps(good).encode()[:-5]):
        target.write_bytes(text)
        with pytest.raises(SignatureError, match="cannot be used"):
            modelfile.verify(path, public)
    target.unlink()
    with pytest.raises(SignatureError, match="no such file"):
        modelfile.verify(path, public)


def test_bad_keys(path, tmp_path):
    modelfile.sign(path, write_secret(tmp_path / "key", b"k" * 32))
    with pytest.raises(SignatureError, match="31 bytes, fewer than 32"):
        modelfile.verify(path, write_secret(tmp_path / "short", b"k" * 31 + b"\n\n\n"))
    with pytest.raises(SignatureError, match="no such file"):
        modelfile.verify(path, tmp_path / "none")
    with pytest.raises(SignatureError, match="a directory"):
        modelfile.verify(path, tmp_path)
    with pytest.raises(SignatureError, match="damaged, or has a password"):
        modelfile.verify(path, write_secret(tmp_path / "pem", b"-----BEGIN PRIVATE KEY-----\nabc\n"))
    _, public = pem_pair(tmp_path, "pair")
    with pytest.raises(SignatureError, match="can verify but not sign"):
        modelfile.sign(path, public, overwrite=True)


@pytest.mark.skipif(os.name != "posix", reason="rights of files are other things elsewhere")
def test_a_key_that_others_may_read(path, tmp_path):
    secret = write_secret(tmp_path / "key", b"k" * 32)
    secret.chmod(0o644)
    with pytest.warns(FairpotWarning, match=r"others than its owner(.|\n)*chmod 600"):
        modelfile.sign(path, secret)


def test_what_would_not_load_is_not_signed(tmp_path):
    (tmp_path / "map.json").write_text("{}")
    with pytest.raises(ModelFileError, match="no model of fairpot"):
        modelfile.sign(tmp_path / "map.json", write_secret(tmp_path / "key", b"k" * 32))
    assert not (tmp_path / "map.json.sig").exists()


def test_expected_hash(path):
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert fairpot.load(path, expect_sha256=digest).method_ == "FairPOT"
    assert fairpot.load(path, expect_sha256=f" {digest.upper()}\n").method_ == "FairPOT"
    with pytest.raises(ModelFileError, match=rf"its SHA-256 is {digest}, expected is 00(.|\n)*Hint: this is another"):
        fairpot.load(path, expect_sha256="00" * 32)
    for wrong in ("", "abc", digest[:-1], 5):
        with pytest.raises(ValueError, match="64 hexadecimal digits"):
            fairpot.load(path, expect_sha256=wrong)
