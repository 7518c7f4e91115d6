import pytest

from export_databases import DuckDB, Postgres, SQLite, postgres_server


@pytest.fixture(scope="session")
def postgres_folder():
    with postgres_server() as folder:
        yield folder


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def database(request):
    if request.param == "postgres":
        made = Postgres(request.getfixturevalue("postgres_folder"))
    else:
        made = {"duckdb": DuckDB, "sqlite": SQLite}[request.param]()
    yield made
    made.connection.close()
