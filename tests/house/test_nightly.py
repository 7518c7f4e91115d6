"""What runs every night: each example is parsed by what reads it, and does its work on generated rows."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
NIGHTLY = ROOT / "examples" / "nightly"
WORKFLOW = yaml.safe_load((NIGHTLY / "github-actions.yml").read_text())
STEPS = WORKFLOW["jobs"]["nightly"]["steps"]
PAGE = (ROOT / "docs" / "how-to" / "nightly.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """A PATH on which `fairpot` is the one that is tested."""
    place = tmp_path_factory.mktemp("bin")
    (place / "fairpot").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fairpot.cli "$@"\n')
    (place / "fairpot").chmod(0o755)
    return f"{place}:{os.environ['PATH']}"


def call(line, folder, path, **more):
    known = os.environ | {"PATH": path, "FAIRPOT_FOLDER": str(folder), **more}
    return subprocess.run(line, cwd=folder, env=known, capture_output=True, text=True, check=False)


@pytest.fixture
def job(made, tmp_path):
    """The folder of a job: map, tonight's rows, and rows whose outcomes are known."""
    return shutil.copytree(made, tmp_path / "job")


@pytest.fixture(scope="module")
def made(tmp_path_factory, path):
    folder = tmp_path_factory.mktemp("job")
    (folder / "in").mkdir()
    (folder / "out").mkdir()
    for line in (
        "fairpot datasets write synthetic in/scores.csv --quiet",
        "fairpot fit in/scores.csv --lam 1 -o map.json --quiet",
        "fairpot apply map.json in/scores.csv -o in/outcomes.csv --quiet",
    ):
        done = call(line.split(), folder, path)
        assert done.returncode == 0, done.stderr
    digest = hashlib.sha256((folder / "map.json").read_bytes()).hexdigest()
    (folder / "map.json.sha256").write_text(f"{digest}  map.json\n")
    return folder


def written(folder):
    return sorted(path.name for path in (folder / "out").iterdir())


def test_the_script(job, path):
    done = call([NIGHTLY / "nightly.sh"], job, path, FAIRPOT_BOUND="0.3")
    assert done.returncode == 0, done.stderr
    assert written(job) == ["adjusted.csv", "changes.csv"]
    assert done.stderr.count('"event": "ended", "code": 0') == 2
    gate = call([NIGHTLY / "nightly.sh"], job, path, FAIRPOT_BOUND="0.0001")
    assert gate.returncode == 3
    assert '"event": "gate", "passed": false' in gate.stderr


def test_the_script_refuses_another_map(job, path):
    (job / "map.json.sha256").write_text("0" * 64)
    done = call([NIGHTLY / "nightly.sh"], job, path)
    assert done.returncode == 2
    assert "SHA-256" in done.stderr.splitlines()[-1]
    assert written(job) == []


AIRFLOW = """
class Done:
    def __rshift__(self, other):
        return other

def task(work):
    return lambda: work() or Done()

def dag(**options):
    assert options["max_active_runs"] == 1
    return lambda work: work
"""


@pytest.mark.slow
def test_the_dag(job, path, tmp_path):
    """With stand-ins for Airflow's decorators, which run a task where it is called."""
    (tmp_path / "airflow").mkdir()
    (tmp_path / "airflow" / "__init__.py").touch()
    (tmp_path / "airflow" / "decorators.py").write_text(AIRFLOW)
    errors = "class AirflowException(Exception): pass\nclass AirflowFailException(Exception): pass\n"
    (tmp_path / "airflow" / "exceptions.py").write_text(errors)
    source = (NIGHTLY / "airflow_dag.py").read_text().replace("/srv/fairpot", str(job))
    for bound, said in (("0.3", ""), ("0.0001", "AirflowFailException: fairpot audit ended with 3: the gate failed")):
        (tmp_path / "dag.py").write_text(source.replace('"0.05"', f'"{bound}"'))
        done = call([sys.executable, tmp_path / "dag.py"], tmp_path, path, PYTHONPATH=_with(tmp_path))
        assert done.stderr.strip().endswith(said)
        assert (done.returncode == 0) == (said == ""), done.stderr
    assert written(job) == ["adjusted.csv", "changes.csv"]


def _with(folder):
    return os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.mark.slow
def test_the_steps_of_the_workflow(tmp_path, path):
    """They run one after the other, but for the one that installs."""
    for step in STEPS:
        if step.get("name") in ("Install", None):
            continue
        done = call(["sh", "-e", "-c", step["run"]], tmp_path, path)
        assert done.returncode == 0, done.stderr


def test_what_stands_around_them():
    compile((NIGHTLY / "airflow_dag.py").read_text(), "airflow_dag.py", "exec")
    assert WORKFLOW[True]["schedule"]  # YAML reads on as true
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert len([step for step in STEPS if "run" in step]) == 4
    pinned = [step["uses"] for step in STEPS if "uses" in step]
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each) for each in pinned)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_units(tmp_path):
    """With a program that is there in the place of the one that will be."""
    for name in ("fairpot-nightly.service", "fairpot-nightly.timer", "fairpot-alert.service"):
        text = (NIGHTLY / name).read_text().replace("/opt/fairpot/share/nightly.sh", "/bin/true")
        (tmp_path / name).write_text(text)
    line = ["systemd-analyze", "verify", "--man=no", *sorted(map(str, tmp_path.iterdir()))]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    told = [each for each in done.stderr.splitlines() if "fairpot" in each]
    assert told == []
    when = re.search(r"OnCalendar=(.+)", (NIGHTLY / "fairpot-nightly.timer").read_text())[1]
    assert subprocess.run(["systemd-analyze", "calendar", when], capture_output=True, check=False).returncode == 0


def test_the_crontab():
    lines = [each for each in (NIGHTLY / "crontab").read_text().splitlines() if not each.startswith("#")]
    job = [each for each in lines if not re.match(r"\w+=", each)]
    assert len(job) == 1
    assert re.fullmatch(r"\d+ \d+ \* \* \* fairpot flock -n \S+ \S+/nightly\.sh [^%]+", job[0])


@pytest.mark.parametrize("script", ["nightly.sh", "container.sh"])
def test_scripts_are_shell(script):
    assert os.access(NIGHTLY / script, os.X_OK)
    subprocess.run(["sh", "-n", NIGHTLY / script], check=True)


def test_the_container_is_told_to_write_nothing_but_its_folder(tmp_path, path):
    """What the engine is told, by an engine that says it."""
    (tmp_path / "engine").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "engine").chmod(0o755)
    said = call([NIGHTLY / "container.sh"], tmp_path, path, ENGINE=str(tmp_path / "engine")).stdout
    for word in (
        "--read-only",
        "--tmpfs /tmp",
        "--cap-drop all",
        "--network none",
        f"--user {os.getuid()}:",
        ":/data ",
    ):
        assert word in said


def test_the_containerfile():
    """What it copies is there, and it does not run as root."""
    lines = (ROOT / "Containerfile").read_text().splitlines()
    copied = [word for each in lines if each.startswith("COPY") and "--from" not in each for word in each.split()[1:-1]]
    assert {"pyproject.toml", "src"} <= set(copied)
    assert all((ROOT / word).exists() for word in copied)
    assert any(re.fullmatch(r"USER [1-9]\d*:[1-9]\d*", each) for each in lines)
    assert 'ENTRYPOINT ["fairpot"]' in lines


# As in the container: nobody's user, all of the file system read-only but one folder and a temporary one.
READ_ONLY = """
mount -t tmpfs tmpfs /srv || exit 77
cp -r {job} {path}/fairpot /srv && mkdir /srv/tmp && chown -R 65532:65532 /srv && mount -o remount,ro,bind / || exit 77
export HOME=/srv/tmp TMPDIR=/srv/tmp PATH="/srv:$PATH" PYTHONDONTWRITEBYTECODE=1
export FAIRPOT_FOLDER=/srv/job FAIRPOT_BOUND=0.3
see=-all,+dac_read_search  # the interpreter may lie where nobody may look
setpriv --reuid 65532 --regid 65532 --clear-groups --inh-caps $see --ambient-caps $see \\
  sh -c '! touch {root}/x 2> /dev/null && sh {script}' || exit $?
ls -A /srv/tmp /srv/job/out
"""


@pytest.mark.slow
@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0 or None in map(shutil.which, ("unshare", "setpriv")),
    reason="only root can take the file system away",
)
def test_on_a_read_only_file_system_as_nobody(job, path):
    script = READ_ONLY.format(job=job, path=path.split(":")[0], root=ROOT, script=NIGHTLY / "nightly.sh")
    done = call(["unshare", "-m", "sh", "-c", script], job, path)
    if done.returncode == 77:
        pytest.skip("nothing can be mounted here")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["/srv/job/out:", "adjusted.csv", "changes.csv", "/srv/tmp:"]


def test_every_example_is_on_the_page():
    for each in NIGHTLY.iterdir():
        assert f"examples/nightly/{each.name}" in PAGE, each.name
