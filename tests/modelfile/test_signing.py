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
from fairpot.modelfile.keys import HEADER

KINDS = ["hmac-sha256", "ed25519"]


def write_file(path, data):
    path.write_bytes(data)
    path.chmod(0o600)
    return path


def write_secret(path, data):
    return write_file(path, HEADER + data.hex().encode() + b"\n")


def pem_pair(folder, name="key"):
    """Make a pair with the package that reads it, not with ours."""
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.generate()
    none, pem = serialization.NoEncryption(), serialization.Encoding.PEM
    secret = private.private_bytes(pem, serialization.PrivateFormat.PKCS8, none)
    public = private.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    (folder / f"{name}.pub").write_bytes(public)
    return write_file(folder / f"{name}.pem", secret), folder / f"{name}.pub"


def key_pair(kind, folder, name="key"):
    if kind == "ed25519":
        return pem_pair(folder, name)
    secret = write_secret(folder / name, os.urandom(32))
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
    with pytest.raises(ValueError, match="already exists"):
        modelfile.sign(path, secret)
    modelfile.sign(path, secret, overwrite=True)


def test_the_signature_is_what_the_docs_say(path, tmp_path):
    secret = write_secret(tmp_path / "key", b"0123456789abcdef0123456789abcdef")
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
        wrong = [None, [], {}, 1e999, 99, True, "", "zz", "é" * 64, "00" * 32, "00" * 8, "x" * 20_000]
        wrong += [f"{value}\n", f" {value}", str(value).upper(), str(value)[:-1], f"{value}00"]
        for other in wrong:
            target.write_text(json.dumps(good | {key: other}))
            with pytest.raises(SignatureError):
                modelfile.verify(path, public)
        twice = json.dumps(good)[:-1] + f", {json.dumps(key)}: {json.dumps(value)}}}"
        target.write_text(twice)
        with pytest.raises(SignatureError, match="comes twice"):
            modelfile.verify(path, public)
    for key, other in (("file_sha256", "0" * 64), ("key_id", "0" * 16)):
        target.write_text(json.dumps(good | {key: other}))
        with pytest.raises(SignatureError, match=f"its {key} was changed"):
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
    with pytest.raises(SignatureError, match="no such file"):
        modelfile.verify(path, tmp_path / "none")
    with pytest.raises(SignatureError, match="a directory"):
        modelfile.verify(path, tmp_path)
    _, public = pem_pair(tmp_path, "pair")
    with pytest.raises(SignatureError, match="can verify but not sign"):
        modelfile.sign(path, public, overwrite=True)


def other_shapes(folder):
    """Files that are no keys of ours, by what the refusal says of them."""
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    private_file, public_file = pem_pair(folder, "shapes")
    pem, private_pem = public_file.read_bytes(), private_file.read_bytes()
    public = serialization.load_pem_public_key(pem)
    private = serialization.load_pem_private_key(private_pem, None)
    as_public, as_private = serialization.PublicFormat, serialization.PrivateFormat
    none, form = serialization.NoEncryption(), serialization.Encoding
    raw = bytes(range(0, 256, 8))  # an Ed25519 public key may be any 32 bytes
    locked = private.private_bytes(form.PEM, as_private.PKCS8, serialization.BestAvailableEncryption(b"x"))
    return {
        "in DER form": [
            public.public_bytes(form.DER, as_public.SubjectPublicKeyInfo),
            private.private_bytes(form.DER, as_private.PKCS8, none),
        ],
        "byte-order mark": [b"\xef\xbb\xbf" + pem, b"\xef\xbb\xbf" + HEADER + b"00" * 32],
        "UTF-16": [pem.decode().encode("utf-16"), HEADER.decode().encode("utf-16") + b"0\0" * 64],
        "text before its first line": [b"Bag Attributes\n" + pem, b"\n" + pem, b" " + private_pem],
        "more in it than one block": [pem + pem, private_pem + pem, pem + b"x", pem.replace(b"-----END", b"-----ENDE")],
        "public key of SSH": [public.public_bytes(form.OpenSSH, as_public.OpenSSH)],
        "OPENSSH PRIVATE KEY": [private.private_bytes(form.PEM, as_private.OpenSSH, none)],
        "with a password": [locked],
        "a certificate": [pem.replace(b"PUBLIC KEY", b"CERTIFICATE")],
        "block of RSA PRIVATE KEY": [private_pem.replace(b"PRIVATE KEY", b"RSA PRIVATE KEY")],
        "several lines or words": [b"score,label,group\n0.5,1,a\n0.25,0,b\n" * 9, b"correct horse battery staple " * 3],
        "JSON": [b'{"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}'],
        "data or an archive": [b"PAR1" + b"\0" * 60, b"PK\x03\x04" + b"\0" * 60],
        "empty": [b"", b"\n \n"],
        "could be guessed": [b"k" * 31 + b"\n\n", b"\x30" + b"k" * 40],
        "without a header": [raw, raw.hex().encode(), os.urandom(40).hex().encode(), b"\x30" + bytes(range(40))],
        "a damaged secret": [
            *(HEADER + tail for tail in (b"", b"00" * 31, b"0" * 65, b"g" * 64, b"A" * 64, b" " + b"0" * 64)),
            HEADER + b"00" * 32 + b"\n" + HEADER + b"00" * 32,
            HEADER + b"00" * 5000,
        ],
        "more than 100000": [b"k" * 100_001],
        "it is damaged": [b"-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n-----END PUBLIC KEY-----\n"],
    }


def test_other_shapes_are_refused_by_name(path, tmp_path):
    """Whatever is no key of ours neither signs nor verifies what was forged with its bytes."""
    modelfile.sign(path, write_secret(tmp_path / "good", os.urandom(32)))
    good = json.loads((tmp_path / "map.json.sig").read_text())
    message = f"fairpot-signature-1\nhmac-sha256\n{good['file_sha256']}\n".encode()
    for what, files in other_shapes(tmp_path).items():
        for data in files:
            secret = data.rstrip(b"\r\n")
            forged = {
                "key_id": hmac.new(secret, b"fairpot-key-1", "sha256").hexdigest()[:16],
                "signature": hmac.new(secret, message, "sha256").hexdigest(),
            }
            (tmp_path / "map.json.sig").write_text(json.dumps(good | forged))
            key = write_file(tmp_path / "shape", data)
            for use in (modelfile.verify, lambda p, k: fairpot.load(p, key=k)):
                with pytest.raises(SignatureError, match=rf"{what}(.|\n)*\nHint: "):
                    use(path, key)
            with pytest.raises(SignatureError, match=what):
                modelfile.sign(path, key, overwrite=True)
            if what != "without a header":
                with pytest.raises(SignatureError, match=r"cannot be used|no secret"):
                    modelfile.new_key(tmp_path / "converted", from_secret=key)
                assert not (tmp_path / "converted").exists()


def test_new_keys(path, tmp_path):
    for kind, name in zip(KINDS, ("team.key", "private.pem")):
        made = modelfile.new_key(tmp_path / name, kind)
        before = (tmp_path / name).read_bytes()
        signed = modelfile.sign(path, tmp_path / name, overwrite=True)
        assert (signed.algorithm, signed.key_id) == (kind, made.id)
        with pytest.raises(SignatureError, match="exists, and a key is not overwritten"):
            modelfile.new_key(tmp_path / name, kind)
        assert (tmp_path / name).read_bytes() == before
        if os.name == "posix":
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert modelfile.verify(path, tmp_path / "private.pem.pub").key_id == made.id
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "half.pub").write_text("")
    for place, kind in (("link", "hmac-sha256"), ("half", "ed25519"), ("none/key", "ed25519")):
        with pytest.raises(ValueError, match=r"exists|not found"):
            modelfile.new_key(tmp_path / place, kind)
    assert not (tmp_path / "elsewhere").exists()
    assert not (tmp_path / "half").exists()
    with pytest.raises(SignatureError, match="algorithm must be"):
        modelfile.new_key(tmp_path / "x", "none")


def test_a_secret_of_an_earlier_version(path, tmp_path):
    """What was signed with it stays good under the converted key."""
    old = write_file(tmp_path / "old", b"0123456789abcdef" * 4 + b"\n")
    with pytest.raises(SignatureError, match=r"without a header(.|\n)*--from-secret"):
        modelfile.sign(path, old)
    modelfile.new_key(tmp_path / "new", from_secret=old)
    modelfile.sign(path, tmp_path / "new")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    message = f"fairpot-signature-1\nhmac-sha256\n{digest}\n".encode()
    found = json.loads((tmp_path / "map.json.sig").read_text())
    assert found["signature"] == hmac.new(b"0123456789abcdef" * 4, message, "sha256").hexdigest()
    with pytest.raises(SignatureError, match="use it as it is"):
        modelfile.new_key(tmp_path / "again", from_secret=tmp_path / "new")


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
