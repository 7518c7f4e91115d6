"""``fairpot sign``: a signature beside a map, so that others can tell where it comes from."""

from __future__ import annotations

import click

from fairpot.cli._options import output_options
from fairpot.cli._printing import Output, shown
from fairpot.modelfile import sign as sign_file


@click.command(short_help="Sign a map with a key.")
@click.argument("model_file", metavar="MAP")
@click.option("--key", required=True, metavar="FILE", help="File with the key; never the key itself.")
@click.option("--force", is_flag=True, help="Replace a signature that is there.")
@output_options
def sign(model_file: str, key: str, force: bool, out: Output) -> None:
    """Sign a map: the signature goes to MAP.sig, and the map itself stays as it is.

    \b
    Examples:
      openssl rand -hex 32 > team.key && chmod 600 team.key
      fairpot sign map.json --key team.key
    \b
      openssl genpkey -algorithm ed25519 -out private.pem && chmod 600 private.pem
      openssl pkey -in private.pem -pubout -out public.pem
      fairpot sign map.json --key private.pem
      fairpot verify map.json --key public.pem

    A key of 32 bytes or more is a shared secret (HMAC-SHA256): who can verify can also sign. A PEM file is an Ed25519
    key (pip install 'fairpot[sign]'): the public half verifies only. A map that would not load is not signed.
    """
    made = sign_file(model_file, key, overwrite=force)
    out.document(
        {"map": model_file, "signature": str(made.path), "algorithm": made.algorithm, "key_id": made.key_id}
        | {"sha256": made.file_sha256}
    )
    out.line(f"Written: {shown(made.path)} ({made.algorithm}, key {made.key_id})")
    out.line(f"SHA-256 of the map: {made.file_sha256}")
