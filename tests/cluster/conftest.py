"""A cluster of the real processes for all tests of this folder, and a stage for each.

Some facts hold for one process, too: their tests run in both wirings.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster import services
from tests.cluster.cluster import Cluster
from tests.cluster.narrator import Narrator
from tests.cluster.nodes import plain_environment
from tests.cluster.pages import Reading
from tests.cluster.services import Postgres
from tests.cluster.stage import Stage

NO_TITLES = "UPDATE chatapp_preferences SET name_conversations = false"


@pytest.fixture(scope="session")
def narrator() -> Iterator[Narrator]:
    """The model of all conversations."""
    with Narrator() as narrator:
        yield narrator


@pytest.fixture(scope="session")
def reading() -> Iterator[Reading]:
    """The thread in which all pages live."""
    reading = Reading()
    yield reading
    reading.close()


@pytest.fixture(scope="session")
def installed() -> None:
    """Skip where PostgreSQL or Redis is not installed; in CI that is a failure."""
    if missing := services.missing():
        reason = f"needs Debian's {missing}: run .ci/services"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


@pytest.fixture(scope="session")
def stored(installed: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for what is stored: the second wiring finds the tables that the first has made."""
    folder = tmp_path_factory.mktemp("cluster")
    yield folder
    Postgres(folder / "postgres", durable=False).remove()


@pytest.fixture(scope="session", params=["cluster", pytest.param("alone", marks=pytest.mark.soak)])
def cluster(request: pytest.FixtureRequest, narrator: Narrator, stored: Path) -> Iterator[Cluster]:
    """Two web processes and two workers, or one process alone."""
    given = plain_environment()
    given |= {"ANTHROPIC_API_KEY": "sk-test", "ANTHROPIC_BASE_URL": narrator.url}
    given["ALLOW_METRICS"] = "true"
    webs, workers = (2, 2) if request.param == "cluster" else (1, 0)
    with Cluster(stored, given, webs=webs, workers=workers) as running:
        running.ask(NO_TITLES)
        yield running


@pytest.fixture
def stage(cluster: Cluster, narrator: Narrator, reading: Reading) -> Iterator[Stage]:
    """All that a test works with; no page may have shown what is torn or doubled."""
    for node in cluster.nodes:
        if not node.is_alive:
            node.launch()
    for node in cluster.nodes:
        node.ready()
    narrator.forget()
    stage = Stage(cluster, narrator, reading)
    yield stage
    wrong = [sentence for page in stage.pages for sentence in page.screen.wrong]
    for page in stage.pages:
        page.close()
    assert wrong == []
    assert narrator.problems == []
