"""The gate on the gap."""

from cli.conftest import COLUMNS


def test_the_gate_names_what_it_looked_at(run, csv):
    assert "in [0, 1]" in run("audit", csv, *COLUMNS, "--fail-above", 5, expect=2).err
    answer = run("audit", csv, *COLUMNS, "--fail-above", 0.001, expect=3)
    assert "between M and F is 0." in answer.out
    both = run("audit", csv, *COLUMNS, "--alpha", 0.3, "--fail-above", 1, "--json").json["fail_above"]
    assert {"gap", "partial_gap"} <= set(both)
    top = run("audit", csv, *COLUMNS, "--alpha", 0.3, "--fail-above", 1, "--fail-metric", "top", "--json").json
    assert set(top["fail_above"]) == {"limit", "partial_gap", "exceeded", "worst"}
    assert "--alpha" in run("audit", csv, *COLUMNS, "--fail-above", 0.1, "--fail-metric", "top", expect=2).err
