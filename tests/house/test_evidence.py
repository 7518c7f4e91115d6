"""The tables of the evidence pages are what the records make, and a command makes the records."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "evidence").glob("*.md"))
RECORDED = sorted((ROOT / "docs" / "evidence" / "records").glob("*.jsonl"))


@pytest.fixture(scope="module")
def evidence():
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import evidence

        import methods  # noqa: F401 -- the tables of the methods are made there

        yield evidence
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_what_the_records_make(evidence, page):
    text = page.read_text()
    assert evidence.filled(text) == text, "run: python benchmarks/evidence.py --pages"
    assert set(evidence.parts_of(text)) <= set(evidence.PARTS)


def test_every_table_has_records(evidence):
    shown = {part for page in PAGES for part in evidence.parts_of(page.read_text())}
    assert shown == {path.stem for path in RECORDED}


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "index.md"], ids=lambda page: page.name)
def test_every_other_table_has_its_command(evidence, page):
    """In its section, or anywhere on a page of one program."""
    named = re.compile(r"benchmarks/(\w+\.py)|make (bench)\b")
    text = evidence.filled(page.read_text())
    programs = {name or "bench.py" for name, _ in named.findall(text)}
    assert programs
    assert all((ROOT / "benchmarks" / name).exists() for name in programs)
    sections = [section for section in re.split(r"^## ", text, flags=re.M) if "| --- |" in section]
    elsewhere = [section.partition("\n")[0] for section in sections if not named.search(section)]
    assert len(programs) == 1 or not elsewhere


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_records_say_the_command_that_makes_them(evidence, path):
    head, lines = evidence.records(path.stem)
    assert head["command"] == f"python {' '.join(evidence.command(path.stem, head['scale']))}"
    assert lines
    assert any(path.stem in evidence.parts_of(page.read_text()) for page in PAGES)


@pytest.fixture(scope="module")
def tried(evidence):
    """Every method on every split of the real data sets."""
    import methods

    return methods, methods.unpacked(evidence.records("methods")[1])


def said_in(text, *names):
    """Insist that each of these files says it, however its lines are broken."""
    missing = [name for name in names if text not in " ".join((ROOT / name).read_text().split())]
    assert not missing, f"{text!r} is not in {missing}"


def test_the_price_of_the_default_method_is_said_where_it_is_chosen(tried):
    methods, records = tried
    large = methods.with_large_gaps(records)
    leads = [methods.apart(large, "LogitShift", bound) for bound in methods.BOUNDS]
    means = [sum(sum(own) / len(own) for own in sets.values()) / len(sets) for sets in leads]
    most = max(sum(own) / len(own) for sets in leads for own in sets.values())
    small = [r for r in records if r not in large]
    others = [methods.apart(small, "LogitShift", bound) for bound in methods.BOUNDS]
    assert max(abs(sum(own) / len(own)) for sets in others for own in sets.values()) < 0.001
    assert len({r.data for r in small}) == 6
    pages = ("README.md", "docs/faq.md", "docs/understand/methods.md", "docs/evidence/methods.md")
    said_in(f"{min(means):.3f} to {max(means):.3f}", *pages, "src/fairpot/cli/fit.py")
    said_in(f"up to {most:.3f}", *pages)
    ahead = [sum(own) / len(own) for own in methods.apart(records, "LogitShift", 0.05).values()]
    assert (len(ahead), sum(abs(each) < 0.001 for each in ahead), sum(each > 0.002 for each in ahead)) == (16, 10, 3)
    said_in("on ten of sixteen the two differ by less than 0.001", "docs/understand/methods.md")
    said_in("Three of the sixteen gain more than 0.002 with `LogitShift`", "docs/evidence/methods.md")


def test_what_a_plain_target_is_worth_is_said_beside_it(tried):
    methods, records = tried
    kept, slow = (
        [methods.share_kept(methods.ruled(records, method, bound)) for method in some for bound in methods.BOUNDS]
        for some in (methods.METHODS[:-1], methods.METHODS[-1:])
    )
    pages = ("README.md", "docs/faq.md", "docs/understand/methods.md", "docs/how-to/certify.md")
    places = ("docs/evidence/index.md", "docs/how-to/how-far.md", "src/fairpot/_docs.py", "src/fairpot/cli/fit.py")
    said_in(f"{100 * min(kept):.0f} to {max(kept):.0%}", *pages, *places)
    said_in(f"`XOrder`, on two small datasets: {100 * min(slow):.0f} to {max(slow):.0%}", "docs/understand/methods.md")
    *middle, least = (methods.share_kept(methods.ruled(records, method, 0.05)) for method in methods.METHODS)
    middle_said = f"{100 * min(middle):.0f} to {max(middle):.0%} of the splits, by `XOrder` in {least:.0%}"
    said_in(middle_said, "docs/evidence/methods.md")


def test_certificates_on_real_data_are_counted_alike_on_both_pages(evidence):
    lines = evidence.records("certified")[1]
    for rule, said in (("plain", "{} of {} trials, {} of them clearly"), ("certified", "{} of {}, none clearly")):
        own = [line for line in lines if line["rule"].startswith(rule)]
        above, clearly = (sum(int(line[name] or 0) for line in own) for name in ("gap above", "clearly above"))
        chosen = sum(int(line["chosen"].partition(" of ")[0]) for line in own)
        assert clearly == 0 or rule == "plain"
        said_in(said.format(above, chosen, clearly), "docs/how-to/certify.md", "docs/evidence/coverage.md")


def test_strengths_for_each_group_are_summed_up_as_the_table_has_them(evidence):
    own, common = (
        [line["target 0.10"] for line in evidence.records("own_dials")[1] if (line["method"], line["strength"]) == each]
        for each in (("FairPOT", "each group"), ("FairPOT", "one for all"))
    )
    kept, fewer = (sum(int(cell.partition(" of ")[0]) for cell in cells[3:]) for cells in (own, common))
    said_in(f"kept 0.10 in {kept} of 9 splits, and in {fewer} of 9 with one for all", "docs/evidence/methods.md")


def test_the_page_on_coverage_sums_up_what_its_tables_hold(evidence):
    """Each sentence is made again from the records of its part."""

    def column(part, name, where=lambda line: True):
        return [float(line[name]) for line in evidence.records(f"coverage-{part}")[1] if where(line)]

    def span(values, digits=0):
        return f"{min(values):.{digits}f}% to {max(values):.{digits}f}%"

    def granted(part, count, rate):
        """Certificates and those broken; the share broken is of ``rate`` rows."""
        broken = [round(percent * of / 100) for percent, of in zip(column(part, rate[0]), rate[1])]
        return sum(broken), sum(count)

    def said(share, draws):
        return f"{100 * share:.1f}%", f"an error of {100 * (share * (1 - share) / draws) ** 0.5:.1f}"

    named = column("certified_clusters", "named: certified")
    broken, certified = granted("certified_clusters", map(round, named), ("of these broken, %", named))
    share, error = said(broken / certified, certified)
    clusters = f"{broken} of {certified} were broken: {share} with {error}"
    draws = column("tops", "draws")
    many = [round(percent * of / 100) for percent, of in zip(column("tops", "certified, %"), draws)]
    tops = "{} of {} certificates".format(*granted("tops", many, ("broken, % of draws", draws)))
    share, error = said(column("weighted", "broken, % of draws")[0] / 100, column("weighted", "draws")[0])
    plans = [column("plans", "reached", lambda line, p=p: line["promised"] == p) for p in ("80", "90")]
    sure = column("certified", "walk: false", lambda line: float(line["walk: some"]) > 98)
    plain = column("certified", "plain: false")
    gaps = column("gaps", "interval covers", lambda line: line["groups"] == "4" and line["true gap"] != "0.0")
    for sentence in (
        clusters,
        tops,
        f"importance weights {share} were broken, with {error}",
        "{:.0f} to {:.0f} were".format(*(f(column("signed", "broken, % of draws")) for f in (min, max))),
        f"95% intervals cover {span(column('clusters', 'gap, patients not named'))}",
        f"plans for 80% reached {span(plans[0], 1)}, and plans for 90% reached {span(plans[1], 1)}",
        f"false in {sum(sure) / len(sure):.1f}% on average",
        f"in {max(sure):.1f}% at most",
        f"false in {sum(plain) / len(plain):.0f}% on average",
        f"down to {min(column('intervals', 'gap ± 1.96 se')):.0f}%",
        f"it covers {span(gaps)} where the gap is not 0",
    ):
        said_in(sentence, "docs/evidence/coverage.md")
    for rates in plans:
        said_in(span(rates, 1), "docs/how-to/plan.md")
    narrow, wide = (column("surveys", f"gap, weights as {kind}") for kind in ("frequency", "importance"))
    unnamed = column("clusters", "gap, patients not named", lambda line: line["visits"] == "5")
    assert {f"{rate:.0f}" for rate in wide} == {"95"}
    said_in(f"covered 95% as importance and {span(narrow)} as frequency", "docs/understand/intervals.md")
    said_in(
        f"five visits per patient that were not named made 95% intervals cover {min(unnamed):.0f}%",
        "docs/understand/intervals.md",
    )


def test_a_printed_table_becomes_records_and_a_table_again(evidence, tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "RECORDS", tmp_path)
    lines = evidence.rows_of(
        "\n### gaps: of two\n\n| rows | gap |\n| --- | --- |\n| 100 |  |\n| 200 | 0.1 |\n\n(3 s)\n"
    )
    evidence.keep("coverage-gaps", {"command": "python x", "scale": 1.0}, lines)
    page = "Before.\n<!-- table: coverage-gaps -->\nold\n<!-- table: end -->\nAfter.\n"
    made = evidence.filled(page)
    assert "| rows | gap |\n| --- | --- |\n| 100 |  |\n| 200 | 0.1 |\n" in made
    assert "old" not in made
    assert evidence.filled(made) == made
    assert evidence.filled(page.replace("gaps", "bands")) == page.replace("gaps", "bands")
