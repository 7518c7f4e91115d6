import pytest

from export_databases import DuckDB, MariaDB, Postgres, SQLite, mariadb_server, postgres_server


@pytest.fixture(scope="session")
def postgres_folder():
    with postgres_server() as folder:
        yield folder


@pytest.fixture(scope="session")
def mariadb_folder():
    with mariadb_server() as folder:
        yield folder


@pytest.fixture(params=["duckdb", "sqlite", "postgres", "mariadb"])
def database(request):
    servers = {"postgres": Postgres, "mariadb": MariaDB}
    if request.param in servers:
        made = servers[request.param](request.getfixturevalue(f"{request.param}_folder"))
    else:
        made = {"duckdb": DuckDB, "sqlite": SQLite}[request.param]()
    yield made
    made.connection.close()
