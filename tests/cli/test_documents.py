"""Answers as JSON."""

import json

from cli.conftest import COLUMNS


def test_documents_say_what_they_are(run, csv):
    found = run("audit", csv, *COLUMNS, "--json").json
    assert found["fairpot"]["document"] == 2
    assert found["fairpot"]["command"] == "audit"
    assert found["inputs"] == [str(csv)]


def test_json_of_an_audit_is_json(run, csv):
    json.dumps(run("audit", csv, *COLUMNS, "--top", 0.2, "--threshold", 0.5, "--json").json, allow_nan=False)
