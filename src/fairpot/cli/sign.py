"""``fairpot sign``: a signature beside a map, so that others can tell where it comes from; and the keys for it."""

from __future__ import annotations

import os

import click

from fairpot.cli._options import Sectioned, output_options
from fairpot.cli._printing import Output, shown
from fairpot.modelfile import new_key as write_key
from fairpot.modelfile import sign as sign_file
from fairpot.modelfile.keys import ALGORITHMS, ED25519, HMAC


@click.command(cls=Sectioned, short_help="Sign a map with a key.")
@click.argument("model_file", metavar="MAP", required=False)
@click.option("--key", metavar="FILE", help="File with the key; never the key itself.")
@click.option("--force", is_flag=True, help="Replace a signature that already exists.")
@click.option("--new-key", metavar="FILE", help="Make a key instead; nothing that exists is replaced.")
@click.option("--algorithm", type=click.Choice(ALGORITHMS), help=f"Kind of the new key; default: {HMAC}.")
@click.option("--from-secret", metavar="FILE", help="Take the new key's secret from this file, which has no header.")
@output_options
def sign(
    model_file: str | None,
    key: str | None,
    force: bool,
    new_key: str | None,
    algorithm: str | None,
    from_secret: str | None,
    out: Output,
) -> None:
    """Sign a map: the signature goes to MAP.sig, and the map itself does not change.

    \b
    Examples:
      fairpot sign --new-key team.key
      fairpot sign map.json --key team.key
    \b
      fairpot sign --new-key private.pem --algorithm ed25519       # and private.pem.pub
      fairpot sign map.json --key private.pem
      fairpot verify map.json --key private.pem.pub

    A shared secret (HMAC-SHA256) lets whoever can verify also sign. Of an Ed25519 pair (pip install 'fairpot[sign]')
    the public half verifies only. A key file says what it is; any other file is refused. A map that would not load is
    not signed.
    """
    if new_key is not None:
        if model_file is not None or key is not None or force:
            raise click.UsageError("--new-key makes a key and signs nothing: leave MAP, --key and --force out.")
        _make_key(new_key, algorithm or HMAC, from_secret, out)
        return
    if algorithm is not None or from_secret is not None:
        raise click.UsageError("--algorithm and --from-secret say how a key is made: they need --new-key.")
    if model_file is None or key is None:
        raise click.UsageError("a MAP and its --key are needed, or --new-key FILE.")
    made = sign_file(model_file, key, overwrite=force)
    out.document(
        {"map": model_file, "signature": str(made.path), "algorithm": made.algorithm, "key_id": made.key_id}
        | {"sha256": made.file_sha256}
    )
    out.line(f"Written: {shown(made.path)} ({made.algorithm}, key {made.key_id})")
    out.line(f"SHA-256 of the map: {made.file_sha256}")


def _make_key(path: str, algorithm: str, from_secret: str | None, out: Output) -> None:
    made = write_key(path, algorithm, from_secret=from_secret)
    public = f"{os.fspath(path)}.pub" if algorithm == ED25519 else None
    out.document({"key": path, "public_key": public, "algorithm": made.algorithm, "key_id": made.id})
    out.line(f"Written: {shown(path)} ({made.algorithm}, key {made.id}); only you may read it")
    if public is not None:
        out.line(f"Written: {shown(public)}, the public key: give it to whoever verifies")
