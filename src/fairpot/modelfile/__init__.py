"""Model files: JSON that holds what a fitted post-processor needs to be applied, and nothing that runs."""

from fairpot.modelfile.content import ModelFile
from fairpot.modelfile.files import read, write
from fairpot.modelfile.forms import SCHEMA_VERSION, schema
from fairpot.modelfile.origin import FEWER_THAN, describe_table, describes, table_sha256
from fairpot.modelfile.text import MAX_BYTES, dumps, loads, naming

__all__ = [
    "FEWER_THAN",
    "MAX_BYTES",
    "SCHEMA_VERSION",
    "ModelFile",
    "describe_table",
    "describes",
    "dumps",
    "loads",
    "naming",
    "read",
    "schema",
    "table_sha256",
    "write",
]
