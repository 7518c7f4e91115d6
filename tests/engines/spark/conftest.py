import pytest

from spark_cluster import SETTINGS, Cluster, java_or_skip


@pytest.fixture(scope="session")
def cluster():
    java_or_skip()
    made = Cluster()
    yield made
    made.close()


@pytest.fixture(scope="session")
def spark(cluster):
    """One session on the cluster for all tests."""
    from fairpot.engines.spark import spark_session

    session = spark_session(cluster.url, config=SETTINGS)
    yield session
    session.stop()
