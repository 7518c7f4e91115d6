"""Finding, verifying and downloading files; downloads come from a real server on the loopback address."""

import hashlib
import io
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from fairpot.datasets import fetch_bank, fetch_compas
from fairpot.datasets.published import DataFile, download, locate

pooch = pytest.importorskip("pooch")

CONTENT = b"age;y\n30;no\n"


def zipped(name, content):
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as archive:
        archive.writestr(name, content)
    return memory.getvalue()


PAGES = {
    "/nested.zip": zipped("bank.zip", zipped("bank-full.csv", CONTENT)),
    "/plain.csv": CONTENT,
    "/other.zip": zipped("else.txt", b"nothing"),
    "/broken.zip": b"this is no archive",
}


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requested.append(self.path)
        if self.path == "/dropped.csv":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(CONTENT)
            return
        page = PAGES.get(self.path)
        self.send_response(200 if page is not None else 404)
        self.send_header("Content-Length", str(len(page or b"")))
        self.end_headers()
        self.wfile.write(page or b"")

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.requested = []
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def served(server, page, *members, content=CONTENT, name="bank-full.csv"):
    return DataFile(
        name=name,
        sha256=hashlib.sha256(content).hexdigest(),
        url=f"http://127.0.0.1:{server.server_port}/{page}",
        page="https://example.org/about",
        members=members,
    )


NESTED = ("nested.zip", "bank.zip", "bank-full.csv")


@pytest.mark.parametrize("way", [NESTED, ("plain.csv",)])
def test_download_is_extracted_and_cached(server, clean_machine, way):
    file = served(server, *way)
    path = locate(file, data_home=None, download_if_missing=True)
    assert path.read_bytes() == CONTENT
    assert clean_machine in path.parents
    assert [entry.name for entry in path.parent.iterdir()] == ["bank-full.csv"]
    assert locate(file, data_home=None, download_if_missing=False) == path
    assert len(server.requested) == 1


def test_download_goes_to_data_home_if_given(server, clean_machine):
    home = clean_machine / "new" / "folder"
    path = locate(served(server, *NESTED), data_home=home, download_if_missing=True)
    assert path == home / "bank-full.csv"


@pytest.mark.parametrize(
    ("way", "message"),
    [
        (("missing.csv",), "404"),
        (("dropped.csv",), "the download failed"),
        (("other.zip", "bank.zip"), "does not hold bank.zip"),
        (("broken.zip", "bank.zip"), "does not hold bank.zip"),
    ],
)
def test_failed_download_says_how_to_get_the_file(server, clean_machine, way, message):
    file = served(server, *way)
    with pytest.raises(FileNotFoundError, match=message) as caught:
        locate(file, data_home=clean_machine, download_if_missing=True)
    assert file.sha256 in str(caught.value)
    assert file.page in str(caught.value)
    assert not list(clean_machine.rglob("*bank-full.csv"))
    assert not list(clean_machine.glob(".download-*"))


def test_download_with_another_content_is_refused(server, tmp_path):
    file = served(server, *NESTED, content=b"what the publisher once had")
    with pytest.raises(ValueError, match=r"is not the published bank-full\.csv") as caught:
        download(file, tmp_path)
    for part in (file.sha256, hashlib.sha256(CONTENT).hexdigest(), file.url):
        assert part in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_local_folders_come_in_order(server, clean_machine, monkeypatch):
    file = served(server, "plain.csv")
    first, second = clean_machine / "first", clean_machine / "second"
    for folder in (first, second):
        folder.mkdir()
        (folder / file.name).write_bytes(CONTENT)
    monkeypatch.setenv("FAIRPOT_DATA", str(second))
    assert locate(file, data_home=first, download_if_missing=True).parent == first
    assert locate(file, data_home=None, download_if_missing=True).parent == second
    assert locate(file, data_home=clean_machine, download_if_missing=True).parent == second
    assert server.requested == []


def test_edited_local_file_is_refused(tmp_path):
    (tmp_path / "bank-full.csv").write_bytes(CONTENT)
    with pytest.raises(ValueError, match=r"is not the published bank-full\.csv") as caught:
        fetch_bank(data_home=tmp_path)
    expected = "d1513ec63b385506f7cfce9f2c5caa9fe99e7ba4e8c3fa264b3aaf0f849ed32d"
    for part in (str(tmp_path), expected, hashlib.sha256(CONTENT).hexdigest(), "Hint:"):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("fetch", "name", "sha", "page"),
    [
        (fetch_bank, "bank-full.csv", "d1513ec6", "archive.ics.uci.edu/dataset/222"),
        (fetch_compas, "compas-scores-two-years.csv", "c451db85", "propublica/compas-analysis"),
    ],
)
class TestCleanMachine:
    def expect(self, error, name, sha, page):
        message = str(error.value)
        for part in (f"{name} was not found", "FAIRPOT_DATA", "data_home", "Hint:", sha, page):
            assert part in message

    def test_no_network(self, fetch, name, sha, page, clean_machine):
        with pytest.raises(FileNotFoundError, match="the download failed") as error:
            fetch()
        self.expect(error, name, sha, page)

    def test_download_not_wanted(self, fetch, name, sha, page, clean_machine):
        with pytest.raises(FileNotFoundError, match="download_if_missing=False") as error:
            fetch(download_if_missing=False)
        self.expect(error, name, sha, page)

    def test_no_pooch(self, fetch, name, sha, page, clean_machine, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "pooch", None)
        with pytest.raises(FileNotFoundError, match=r"fairpot\[data\]") as error:
            fetch()
        self.expect(error, name, sha, page)
