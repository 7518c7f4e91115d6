"""Map files: JSON that holds what a fitted repair needs to be applied, and nothing that runs."""

from fairpot.modelfile.files import MAX_BYTES
from fairpot.modelfile.forms import SCHEMA_VERSION, schema

__all__ = ["MAX_BYTES", "SCHEMA_VERSION", "schema"]
