"""Real Spark on this machine, in processes of its own: a standalone cluster, and a Spark Connect server."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest


def java_or_skip():
    pytest.importorskip("pyspark")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java, which Spark runs on")


def _end_with_us():
    """Let a process be killed when the one that started it is: a test run that is stopped leaves nothing behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class Cluster:
    """A master and workers with one core each, on loopback."""

    def __init__(self, workers=2, memory="1g"):
        self.folder = Path(tempfile.mkdtemp(prefix="fairpot-spark-"))
        self.workers, self.memory = [], memory
        self.master, line = self._start("Master", "--port", "0", until="Starting Spark master at ")
        self.url = line.rsplit(" ", 1)[-1]
        for _ in range(workers):
            self.add_worker()

    def add_worker(self):
        options = ["--cores", "1", "--memory", self.memory, "--work-dir", str(self.folder)]
        worker, _ = self._start("Worker", *options, self.url, until="Successfully registered with master")
        self.workers.append(worker)
        return worker

    def kill_worker(self):
        """Kill a worker and the executors it started, as a machine that loses power does."""
        worker = self.workers.pop(0)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()

    def close(self):
        for process in [*self.workers, self.master]:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, role, *arguments, until):
        name = f"org.apache.spark.deploy.{role.lower()}.{role}"
        options = ["--host", "127.0.0.1", "--webui-port", "0", *arguments]
        return started("spark-class", name, *options, folder=self.folder, until=until)


class ConnectServer:
    """A Spark Connect server with one core, on loopback."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="fairpot-connect-"))
        settings = {"grpc.binding.port": "0", "grpc.binding.address": "127.0.0.1"}
        options = [f"--conf=spark.connect.{key}={value}" for key, value in settings.items()]
        options += ["--conf=spark.ui.enabled=false", "--conf=spark.sql.shuffle.partitions=1", "--master=local[1]"]
        name = "org.apache.spark.sql.connect.service.SparkConnectServer"
        until = "Spark Connect server started at:"
        command = ["spark-submit", "--class", name, *options, "spark-internal"]
        self.process, line = started(*command, folder=self.folder, until=until, memory="700m")
        self.url = f"sc://127.0.0.1:{line.rsplit(':', 1)[-1]}"

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def started(program, *arguments, folder, until, memory="200m"):
    """Start one of Spark's programs and wait until it says that it is ready; return it and that line."""
    import pyspark

    quick = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    environment = os.environ | {
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": memory,
        "SPARK_DAEMON_JAVA_OPTS": quick,
        "SPARK_SUBMIT_OPTS": quick,
        "SPARK_LOCAL_DIRS": str(folder),
    }
    process = subprocess.Popen(
        [str(Path(pyspark.__file__).parent / "bin" / program), *arguments],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        preexec_fn=_end_with_us,
    )
    said = []
    for line in process.stdout:
        said.append(line.strip())
        if until in line:
            threading.Thread(target=_drain, args=(process.stdout,), daemon=True).start()
            return process, line.strip()
    raise AssertionError("\n".join(said))


def _drain(stream):
    with stream:
        for _ in stream:
            pass


def own_process():
    """Return the environment of a process with a Spark of its own, whose Java starts quickly."""
    quick = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    return os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "JAVA_TOOL_OPTIONS": quick}


SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    # Compiling code costs more than running it on so few rows; Connect and local mode are tried with it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.adaptive.coalescePartitions.enabled": "true",
    "spark.task.maxFailures": "1",
    # A worker that is gone is no failure of a task; on a busy machine the master takes its time to say so.
    "spark.standalone.executorRemoveDelayOnDisconnection": "120s",
}
