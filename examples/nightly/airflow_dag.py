"""The nightly run as a DAG of Airflow 2 or 3: adjust, then check; a failed gate (exit code 3) is not tried again."""

import datetime
import json
import subprocess

from airflow.decorators import dag, task
from airflow.exceptions import AirflowException, AirflowFailException

FOLDER = "/srv/fairpot"
TRY_AGAIN = (5, 137, 143)  # no cluster, killed, ended: the next try may work; nothing else changes by itself


def fairpot(*words: str) -> None:
    """Run a command in the folder of the job; its last line on standard error says how it ended, and why."""
    line = ["fairpot", *words, "--no-settings", "--quiet", "--log-format", "json"]
    done = subprocess.run(line, cwd=FOLDER, stderr=subprocess.PIPE, text=True, check=False)
    print(done.stderr)
    if done.returncode:
        last = json.loads(done.stderr.splitlines()[-1]) if done.stderr else {}
        kind = AirflowException if done.returncode in TRY_AGAIN or done.returncode < 0 else AirflowFailException
        raise kind(f"fairpot {words[0]} ended with {done.returncode}: {last.get('error', 'the gate failed')}")


@dag(
    schedule="17 2 * * *",
    start_date=datetime.datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": datetime.timedelta(minutes=10)},
)
def fairpot_nightly() -> None:
    """Adjust tonight's scores, then check the gap of those whose outcomes are known."""

    @task
    def adjust() -> None:
        with open(f"{FOLDER}/map.json.sha256") as file:
            known = file.read()[:64]
        written = ["-o", "out/adjusted.csv", "--changes", "out/changes.csv", "--force"]
        fairpot("apply", "map.json", "in/scores.csv", *written, "--expect-sha256", known)

    @task
    def check() -> None:
        fairpot("audit", "in/outcomes.csv", "--score", "score_adjusted", "--bound", "0.05", "--require", "within")

    adjust() >> check()


fairpot_nightly()
