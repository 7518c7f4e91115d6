"""Spark's errors in one line and a hint; nothing here needs Java."""

import pytest

from fairpot.engines.spark.session import format_of, spark_errors
from fairpot.exceptions import InputFileError

errors = pytest.importorskip("pyspark.errors")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Job aborted.\n\tat java.x\nTotal size (1.1 GiB) is bigger than spark.driver.maxResultSize",
            r"bigger than spark.driver.maxResultSize\nHint: raise spark.driver.maxResultSize, or lower max_distinct",
        ),
        ("An error\n\tat a.b\nCaused by: java.lang.OutOfMemoryError: Java heap space", "Hint: give the driver or the"),
        ("[PATH_NOT_FOUND] Path does not exist: x", "every worker must see the path"),
        (
            "Something else\n  at java.x",
            r"^Spark could not read the rows: Something else\nHint: Spark's log has the rest\.$",
        ),
    ],
)
def test_one_line_and_a_hint(text, message):
    with pytest.raises(InputFileError, match=message), spark_errors("the rows"):
        raise errors.PySparkException(text)


def test_formats():
    assert format_of(["a.csv.gz", "b.csv"]) == "csv"
    assert format_of(["folder"], "orc") == "orc"
    for paths in (["a.csv", "b.parquet"], ["a.jsonl"], ["folder"]):
        with pytest.raises(InputFileError, match="Hint: name the format"):
            format_of(paths)
