"""Settings in a file beside the data."""


def test_settings_beside_the_data(run, many):
    (many.parent / "fairpot.toml").write_text(
        'threshold = 0.4\nmin_group = 30\n[columns]\nscore = "risk"\nlabel = "outcome"\ngroup = "sex"\n'
    )
    answer = run("audit", many)
    assert "settings: " in answer.err
    assert "Flagged at 0.4" in answer.out
    given = run("audit", many, "--threshold", "0.6")
    assert "Flagged at 0.6" in given.out
    named = many.parent / "other.toml"
    named.write_text('[columns]\nscore = "risk"\nlabel = "outcome"\ngroup = ["sex"]\n')
    run("fit", many, "--lam", "0.5", "-o", many.parent / "map.json")
    run("apply", many.parent / "map.json", many, "-o", many.parent / "new.csv")
    assert "Flagged" not in run("audit", many, "--settings", named).out
    named.write_text("bond = 0.05\n")
    assert "'bond'" in run("audit", many, "--settings", named, expect=2).err
    assert "--settings names a file" in run("audit", many, "--settings", many.parent / "none.toml", expect=2).err
