"""Fixtures for every test: no test sees the machine's key, folders or browser by accident."""

import gc
import os
import shutil
import signal
from collections.abc import Generator
from pathlib import Path

import hypothesis
import pytest
from django.core.cache import caches
from django.db import connection, connections
from django.db.models.signals import post_migrate
from pytest_django import Settings

from chatapp.languages import Reader
from chatapp.providers import provider_specs
from condense.folded_files import signatures
from tests.first_start import FirstStart

# What a shell starts in the background ignores Ctrl+C, and so would the servers of the tests.
signal.signal(signal.SIGINT, signal.default_int_handler)

IN_CI = os.environ.get("CI") == "true"

# On a busy machine its process may take seconds to start: no source here is too slow by that.
signatures.parser.seconds = 120


def find_chromium() -> str | None:
    """Return the path of the browser that .ci/browser looks for, or None."""
    return shutil.which(os.environ.get("CHROMIUM", "chromium"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let ``make soak`` ask for the tests that take long, and only those."""
    parser.addoption("--soak", action="store_true", help="run the tests marked soak, and no others")


def pytest_configure(config: pytest.Config) -> None:
    """Have hypothesis try the same in each run, however busy the machine is; ``make soak`` more."""
    ci, settings = hypothesis.settings.get_profile("ci"), hypothesis.settings
    soak = config.getoption("--soak")
    settings.register_profile("tests", ci, derandomize=not soak, max_examples=500 if soak else 40)
    settings.load_profile("tests")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without looking for garbage, and afterwards never among what was collected.

    What was collected stays until the end: to walk over it took longer than all the rest.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, or all else; skip browser tests where there is no browser.

    In CI they fail there.
    """
    wanted = config.getoption("--soak")
    groups: dict[bool, list[pytest.Item]] = {True: [], False: []}
    for item in items:
        groups[bool(item.get_closest_marker("soak")) == wanted].append(item)
    items[:] = groups[True]
    config.hook.pytest_deselected(items=groups[False])
    needs_sqlite = connection.vendor != "sqlite"
    needs_browser = pytest.mark.skip(reason="needs Debian's chromium: apt-get install chromium")
    for item in items:
        if needs_sqlite and (only := item.get_closest_marker("sqlite")):
            item.add_marker(pytest.mark.skip(reason=f"SQLite's own: {only.args[0]}"))
        if not needs_sqlite and (only := item.get_closest_marker("postgresql")):
            item.add_marker(pytest.mark.skip(reason=f"PostgreSQL's own: {only.args[0]}"))
        if IN_CI:
            # A browser, its server and the rest share a machine of which nothing is known: as in
            # the configuration that Playwright writes, a test has a second chance there, and the
            # report says so.
            item.add_marker(pytest.mark.flaky(reruns=1))
        elif item.get_closest_marker("browser") and not find_chromium():
            item.add_marker(needs_browser)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The browser's executable, for playwright's `executable_path`."""
    path = find_chromium()
    if path is None:
        pytest.fail("There is no chromium: run .ci/browser.")
    return path


@pytest.fixture(scope="session")
def first_start(tmp_path_factory: pytest.TempPathFactory) -> FirstStart:
    """What a server finds in its folder when it is not started there for the first time."""
    place = tmp_path_factory.getbasetemp()
    # The workers of a run have a folder each, beside each other.
    return FirstStart(place.parent if "PYTEST_XDIST_WORKER" in os.environ else place)


@pytest.fixture(scope="session")
def django_db_keepdb() -> bool:
    """Keep what is no file: threads are connected to it to the end, and the next run takes it."""
    return connection.vendor != "sqlite"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    tmp_path_factory: pytest.TempPathFactory, django_db_modify_db_settings_parallel_suffix: None
) -> None:
    """Keep the tests' database in a file, as the server does: readers and writers share one.

    In memory, Django's way to share it has a reader fail where somebody writes. Another database
    has a name for each worker.
    """
    if connection.vendor != "sqlite":
        return
    name = tmp_path_factory.mktemp("database") / "test.sqlite3"
    connections.settings["default"]["TEST"]["NAME"] = str(name)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> None:
    """Have no permission made anew after each test that commits: nobody asks for one."""
    post_migrate.disconnect(dispatch_uid="django.contrib.auth.management.create_permissions")


@pytest.fixture(autouse=True)
def isolation(settings: Settings, tmp_path: Path) -> None:
    """Give each test folders of its own and no provider to call."""
    for spec in provider_specs().values():
        for name in filter(None, (spec.key_variable, spec.url_variable)):
            setattr(settings, name, "")
    # A real hash is slow on purpose, which is Django's to test.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    # The last page that another test has asked for in this process was in a language of its own.
    Reader().enter()
    # Wrong passwords and requests are counted there, and what users' folders take.
    for name in ("default", "visits"):
        caches[name].clear()
    settings.DATA_DIR = tmp_path / "data"
    settings.DATA_DIR.mkdir()
    settings.STATIC_ROOT = settings.DATA_DIR / "static"
    settings.WHITENOISE_AUTOREFRESH = True
    settings.WORKSPACES_ROOT = settings.DATA_DIR / "workspaces"
