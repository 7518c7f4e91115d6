"""Spark's errors in one line and a hint; nothing here needs Java."""

import pytest

from fairpot.exceptions import InputFileError, UnreachableError
from fairpot.rows.readers.session import spark_errors, spark_session
from fairpot.rows.readers.spark import format_of

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
            r"^Spark could not read the rows: Something else\nHint: Spark's log has the rest; ",
        ),
    ],
)
def test_one_line_and_a_hint(text, message):
    with pytest.raises(InputFileError, match=message), spark_errors("the rows"):
        raise errors.PySparkException(text)


@pytest.mark.parametrize("text", ["x All masters are unresponsive! Giving up. y", "[RETRIES_EXCEEDED] The maximum"])
def test_a_cluster_that_is_lost(text):
    message = "cannot reach Spark at spark://a:1: the connection was lost"
    with pytest.raises(UnreachableError, match=message), spark_errors("spark://a:1"):
        raise errors.PySparkException(text)


@pytest.mark.parametrize("place", ["x", "x:", "x:0", "x:99999", "x:7o"])
def test_addresses(place):
    with pytest.raises(InputFileError, match=r"is not a host and a port\.\nHint: such as spark://host:7077"):
        spark_session(f"spark://{place}")


@pytest.mark.parametrize(
    "master", ["", "somewhere", " local", "LOCAL", "local[x]", "local[0]", "local[2", "spark:/a", "://a"]
)
def test_masters_that_are_none(master):
    with pytest.raises(InputFileError, match=r"does not name a place where Spark runs\.\nHint: local, "):
        spark_session(master)


@pytest.mark.parametrize(("there", "said"), [(True, "what it wrote on standard error"), (False, "install Java 17")])
def test_java_that_ends_is_not_java_that_is_missing(tmp_path, monkeypatch, there, said):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    if there:
        java.touch(mode=0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InputFileError, match=f"Hint: {said}"), spark_errors("yarn"):
        raise errors.PySparkRuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port.")


def test_formats():
    assert format_of(["a.csv.gz", "b.csv"]) == "csv"
    assert format_of(["folder"], "orc") == "orc"
    for paths in (["a.csv", "b.parquet"], ["a.jsonl"], ["folder"]):
        with pytest.raises(InputFileError, match="Hint: name the format"):
            format_of(paths)
