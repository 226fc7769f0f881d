"""A process that can't work says why in one sentence, and ends."""

import itertools
from collections.abc import Callable
from urllib.parse import urlsplit

import pytest

from tests.cluster.cluster import Cluster
from tests.cluster.nodes import Node
from tests.cluster.services import free_port
from tests.cluster.stage import in_cluster


def refusal(cluster: Cluster, command: str, **environment: str) -> str:
    """Return the one line of a process that must not start; no password is in it."""
    node = Node(command, 9, cluster.folder, {**cluster.environment, **environment})
    node.log.unlink(missing_ok=True)
    node.launch()
    assert node.ended() == 1
    said = node.log.read_text()
    assert "Traceback" not in said
    assert said.count("\n") == 1, said
    assert cluster.redis
    for secret in (cluster.redis.password, cluster.postgres.password.read_text(), "wrong-word"):
        assert secret not in said
    return said.strip()


def elsewhere(url: str, **parts: str) -> str:
    """Return an address with another port, password or path."""
    split = urlsplit(url)
    user, password = parts.get("user", split.username), parts.get("password", split.password)
    port, path = parts.get("port", split.port), parts.get("path", split.path)
    return f"{split.scheme}://{user}:{password}@{split.hostname}:{port}{path}"


WRONG: dict[str, tuple[str, Callable[[str], str]]] = {
    "no PostgreSQL there": ("DATABASE_URL", lambda url: elsewhere(url, port=str(free_port()))),
    "another password of it": ("DATABASE_URL", lambda url: elsewhere(url, password="wrong-word")),
    "no such database": ("DATABASE_URL", lambda url: elsewhere(url, path="/nowhere")),
    "no address of it": ("DATABASE_URL", lambda _url: "postgres"),
    "no Redis there": ("REDIS_URL", lambda url: elsewhere(url, user="", port=str(free_port()))),
    "another password of Redis": (
        "REDIS_URL",
        lambda url: elsewhere(url, user="", password="wrong-word"),
    ),
    "no password of Redis": (
        "REDIS_URL",
        lambda url: f"redis://{urlsplit(url).netloc.partition('@')[2]}/0",
    ),
    "no address of Redis": ("REDIS_URL", lambda _url: "localhost:6379"),
}


# Each service in one way; tests/deployment has all ways, for processes that serve.
FEW = {("work", "another password of it"), ("work", "no Redis there")}


@in_cluster
@pytest.mark.parametrize(
    ("command", "what"),
    [
        pytest.param(*one, marks=() if one in FEW else pytest.mark.soak)
        for one in itertools.product(("work", "serve"), WRONG)
    ],
)
def test_a_wrong_address_is_one_sentence(cluster: Cluster, command: str, what: str) -> None:
    """The variable is named, and nothing waits for what will not come."""
    name, change = WRONG[what]
    assert name in refusal(cluster, command, **{name: change(cluster.environment[name])})


@in_cluster
def test_a_database_without_migrations_is_one_sentence(cluster: Cluster) -> None:
    """A worker makes no tables; it says who does."""
    cluster.ask("CREATE DATABASE bare")
    url = elsewhere(cluster.postgres.url, path="/bare")
    assert "manage.py migrate" in refusal(cluster, "work", DATABASE_URL=url)
