"""Model files: JSON that holds what a fitted post-processor needs to be applied, and nothing that runs."""

from fairpot.modelfile.content import ModelFile
from fairpot.modelfile.files import naming, read, write
from fairpot.modelfile.origin import describe_table, table_sha256
from fairpot.modelfile.text import SCHEMA_VERSION, dumps, loads, schema

__all__ = [
    "SCHEMA_VERSION",
    "ModelFile",
    "describe_table",
    "dumps",
    "loads",
    "naming",
    "read",
    "schema",
    "table_sha256",
    "write",
]
