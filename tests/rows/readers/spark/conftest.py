from contextlib import chdir

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
    """One session on the cluster for all tests; paths that name no folder are under the cluster's own."""
    from fairpot.rows import spark_session

    with chdir(cluster.folder):  # where its Java starts is where it stays
        session = spark_session(cluster.url, config=SETTINGS)
    yield session
    session.stop()
