"""``fairpot verify``: whether a map is the one that was signed."""

from __future__ import annotations

import click

from fairpot.cli._options import MapFile, Sectioned, map_options, output_options
from fairpot.cli._printing import Output, shown
from fairpot.modelfile import verify as verify_file


@click.command(cls=Sectioned, short_help="Check a map's signature.")
@map_options()
@output_options
def verify(map_file: MapFile, out: Output) -> None:
    """Check that a map is, byte for byte, what was signed with a key; the signature is MAP.sig.

    \b
    Example:
      fairpot verify map.json --key team.key && fairpot apply map.json new.csv -o adjusted.csv

    --key names the file with the secret, or the public key in PEM form. A signature that is missing, made with another
    key or for another file is an error (exit code 2).
    """
    if map_file.key is None:
        raise click.UsageError("--key is missing: the file with the secret, or the public key in PEM form.")
    found = verify_file(map_file.path, map_file.key, expect_sha256=map_file.expect_sha256)
    out.document(
        {"map": map_file.path, "good": True, "algorithm": found.algorithm, "key_id": found.key_id}
        | {"sha256": found.file_sha256}
    )
    out.line(f"good: {shown(map_file.path)} is what was signed ({found.algorithm}, key {found.key_id})", "green")
