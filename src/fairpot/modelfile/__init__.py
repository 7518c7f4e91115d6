"""Map files: JSON that holds what a fitted repair needs to be applied, and nothing that runs."""

from fairpot.modelfile.content import ModelFile
from fairpot.modelfile.files import read, write
from fairpot.modelfile.forms import SCHEMA_VERSION, schema
from fairpot.modelfile.text import MAX_BYTES, dumps, loads

__all__ = ["MAX_BYTES", "SCHEMA_VERSION", "ModelFile", "dumps", "loads", "read", "schema", "write"]
