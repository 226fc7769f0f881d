"""`manage.py serve`: one address when it works, one sentence when it cannot."""

import json
import signal
import socket
import sys
import urllib.error
import urllib.request
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.management import CommandError, call_command

from chatapp.management.commands.serve import address
from tests.chatapp.server_processes import PATIENCE, SIGN_IN, refusal, serving
from tests.first_start import FirstStart


def remove_database(data: Path) -> None:
    """Remove its file, and what SQLite keeps beside it."""
    for file in data.glob("palimpsest.sqlite3*"):
        file.unlink()


def test_a_server_prints_one_address_answers_in_words_and_stays_alone(
    tmp_path: Path, first_start: FirstStart
) -> None:
    """At its first start and later; a second one would end its turns."""
    assert SIGN_IN.match(first_start.link), first_start.link
    with serving(first_start.copy(tmp_path)) as (server, url):
        assert SIGN_IN.match(url), url
        assert refusal(tmp_path) == (
            f"Another server is running with DATA_DIR {tmp_path}. Stop it first, or set DATA_DIR "
            "to another folder."
        )
        origin = url.partition("/sign-in/")[0]
        for path in ("/sign-in/", "/healthz"):
            with urllib.request.urlopen(origin + path) as page:
                assert page.status == 200
        form = {"Content-Type": "multipart/form-data"}
        request = urllib.request.Request(f"{origin}/api/attachments", b"abc", form)
        with pytest.raises(urllib.error.HTTPError, match="401") as told:
            urllib.request.urlopen(request)
        assert json.loads(told.value.read()).keys() == {"detail"}
        host, port = url.split("/")[2].split(":")
        with closing(HTTPConnection(host, int(port), timeout=PATIENCE)) as connection:
            pieces = (bytes(2**20) for _ in range(257))
            connection.request("POST", "/sign-in/", pieces, encode_chunked=True)
            answer = connection.getresponse()
            assert (answer.status, b"up to 256 MB" in answer.read()) == (413, True)
        remove_database(tmp_path)
        with pytest.raises(urllib.error.HTTPError, match="503") as told:
            urllib.request.urlopen(f"{origin}/healthz")
        assert told.value.read() == b"The database can't be read."
        server.send_signal(signal.SIGINT)
        rest, stderr = server.communicate(timeout=PATIENCE)
    assert (rest, "Traceback" in stderr) == ("", False)
    assert server.returncode in {0, 130}


def test_a_port_in_use_is_said_before_anything_is_written(
    tmp_path: Path, first_start: FirstStart
) -> None:
    """A second start must not migrate the database under the first."""
    remove_database(first_start.copy(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        sentence = refusal(tmp_path, PORT=str(port))
    assert sentence == (
        f"CommandError: Cannot listen on 127.0.0.1 port {port}: Address already in use. "
        "Set HOST or PORT to another value."
    )
    assert not (tmp_path / "palimpsest.sqlite3").exists()


def test_a_bad_port_is_one_sentence(tmp_path: Path) -> None:
    """The variable and the range are named."""
    sentence = refusal(tmp_path, PORT="65536")
    assert sentence == "PORT must be a whole number from 0 to 65535, not '65536'."


@pytest.mark.skipif(sys.platform != "linux", reason="needs a folder that root cannot write to")
def test_a_read_only_folder_is_one_sentence(settings: LazySettings) -> None:
    """Root ignores permission bits, but not that /proc takes no files."""
    settings.DATA_DIR = Path("/proc")
    with pytest.raises(CommandError, match=r"^DATA_DIR /proc is not writable: No such file"):
        call_command("serve")


def test_a_damaged_database_is_one_sentence(tmp_path: Path, first_start: FirstStart) -> None:
    """The file is named, and left as it is."""
    remove_database(first_start.copy(tmp_path))
    database = tmp_path / "palimpsest.sqlite3"
    database.write_text("no database, but long enough to be taken for one at first" * 100)
    sentence = refusal(tmp_path)
    assert sentence == (
        f"CommandError: The database {database} cannot be used: file is not a database."
    )


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("chat.example.org", "http://chat.example.org:80"),
        ("::1", "http://[::1]:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),  # noqa: S104 - only text
        ("::", "http://[::1]:80"),
    ],
)
def test_the_address_can_be_opened(host: str, url: str) -> None:
    """Brackets for IPv6, and no wildcard, which browsers refuse."""
    assert address(host, 80) == url
