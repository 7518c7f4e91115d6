"""The JSON Schema of records, as the program that writes the documentation's makes it."""

import importlib.util
import sys
from pathlib import Path

_PROGRAM = Path(__file__).parents[2] / "docs" / "_schema.py"
_spec = importlib.util.spec_from_file_location("documents_schema", _PROGRAM)
_module = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = _module
_spec.loader.exec_module(_module)
schema_of = _module.schema_of
