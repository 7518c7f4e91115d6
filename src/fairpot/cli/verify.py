"""``fairpot verify``: whether a map is the one that was signed."""

from __future__ import annotations

import click

from fairpot.cli._printing import Output, shown
from fairpot.cli._rows import output_options
from fairpot.modelfile import verify as verify_file


@click.command(short_help="Check a map's signature.")
@click.argument("model_file", metavar="MAP")
@click.option("--key", required=True, metavar="FILE", help="File with the secret, or the public key in PEM form.")
@output_options
def verify(model_file: str, key: str, out: Output) -> None:
    """Check that a map is, byte for byte, what was signed with a key; the signature is MAP.sig.

    \b
    Example:
      fairpot verify map.json --key team.key && fairpot apply map.json new.csv -o adjusted.csv

    A signature that is missing, made with another key or for another file is an error (exit code 2).
    """
    found = verify_file(model_file, key)
    out.document(
        {"map": model_file, "good": True, "algorithm": found.algorithm, "key_id": found.key_id}
        | {"sha256": found.file_sha256}
    )
    out.line(f"good: {shown(model_file)} is what was signed ({found.algorithm}, key {found.key_id})", "green")
