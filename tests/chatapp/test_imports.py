"""What a server imports: the faster loop under daphne, and nothing that it may never use."""

import subprocess
import sys

import pytest

from tests.processes import ROOT

UNUSED = {"psycopg", "psycopg_pool", "redis", "procrastinate", "chatapp.project.postgresql"}
# What describes the API, which few servers are asked for.
DESCRIBING = {"ninja", "pydantic"}
# Each line that comes first has a process of its own, which has imported what takes long already.
SERVE = """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "chatapp.settings"
import django
django.setup()
import autobahn.twisted.websocket, chatapp.asgi, chatapp.urls
for first in sys.argv[1:]:
    if not os.fork():
        exec(first)
        import chatapp.management.commands.serve
        from twisted.internet import reactor
        print(type(reactor._asyncioEventloop).__module__, *sys.modules, flush=True)
        os._exit(0)
    os.wait()
"""


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> list[list[str]]:
    """The loops that daphne runs on, each with the modules that are imported by then."""
    data = tmp_path_factory.mktemp("data")
    (data / "static").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SERVE, "", "sys.modules['uvloop'] = None", "import daphne.server"],
        cwd=ROOT,
        env={"DATA_DIR": str(data)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.skipif(sys.platform == "win32", reason="uvloop is not made for Windows")
def test_daphne_runs_on_uvloop_where_it_can(servers: list[list[str]]) -> None:
    """It is not everywhere, and a loop that daphne has made already is left as it is."""
    loops = [loop for loop, *_modules in servers]
    assert loops == ["uvloop", "asyncio.unix_events", "asyncio.unix_events"]


def test_postgresql_redis_and_the_api_cost_nothing_where_they_are_not_used(
    servers: list[list[str]],
) -> None:
    """No part of them is imported."""
    for _loop, *modules in servers:
        assert {"chatapp.asgi", "chatapp.urls"} <= {*modules}
        assert not (UNUSED | DESCRIBING) & {*modules}
