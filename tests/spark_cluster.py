"""A real standalone Spark cluster on this machine: a master and workers as processes of their own."""

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
        import pyspark

        self.home = Path(pyspark.__file__).parent
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
        """Start a process and wait until it says that it is ready; return it and that line."""
        environment = os.environ | {
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "200m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "SPARK_LOCAL_DIRS": str(self.folder),
        }
        name = f"org.apache.spark.deploy.{role.lower()}.{role}"
        command = [str(self.home / "bin" / "spark-class"), name, "--host", "127.0.0.1", "--webui-port", "0", *arguments]
        process = subprocess.Popen(
            command,
            env=environment,
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
                threading.Thread(target=self._drain, args=(process.stdout,), daemon=True).start()
                return process, line.strip()
        raise AssertionError("\n".join(said))

    @staticmethod
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
}
