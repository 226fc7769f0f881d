"""The image and the compose file, replayed in a folder: nothing here builds or runs containers."""

import os
import re
import shlex
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from chatapp.project.environment import read_database, read_redis
from tests.cluster.services import Redis, free_port
from tests.deployment.documents import DEPLOY
from tests.deployment.environments import environment, lend_packages
from tests.processes import ROOT

# What the compose file has its reader put into .env.
SECRETS = {
    "POSTGRES_PASSWORD": "one",
    "REDIS_PASSWORD": "two",
    "SECRET_KEY": "three",
    "SEAL_KEY": "four",
}
PORT = "8000"


@dataclass
class Image:
    """A folder in place of an image's root, and an environment in place of its Python."""

    root: Path
    # Whether pip downloads, as in the image, or the packages of the tests are lent.
    downloads: bool
    work: Path = field(init=False)
    variables: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.work = self.root
        python = environment(self.root / "python", with_pip=self.downloads)
        self.variables = {"PATH": f"{python.parent}:{os.environ['PATH']}"}

    def take(self, instruction: str) -> None:
        """Do what a line of the Dockerfile says, as far as that changes this folder only."""
        word, rest = instruction.split(maxsplit=1)
        match word:
            case "FROM":
                assert re.fullmatch(r"python:3\.1[2-9]-slim", rest)
            case "RUN":
                for command in rest.split(" && "):
                    self._run(shlex.split(command))
            case "WORKDIR":
                self.work = self._place(rest)
                self.work.mkdir(parents=True)
            case "COPY":
                *sources, target = rest.split()
                for source in sources:
                    self._copy(ROOT / source, target)
            case "ENV":
                given = dict(pair.split("=", 1) for pair in rest.split())
                self.variables |= {name: self._moved(value) for name, value in given.items()}
            case "EXPOSE":
                assert rest == PORT
            case "USER":
                pass  # whoever runs the tests is the one who can
            case _:
                pytest.fail(f"Nothing here replays {instruction!r}.")

    def _run(self, command: list[str]) -> None:
        match command:
            case ["apt-get" | "rm" | "useradd", *_]:
                pass  # for a machine of its own
            case ["install", "--directory", "--owner", "palimpsest", *rest]:
                subprocess.run([*command[:2], *map(self._moved, rest)], check=True)
            case ["pip", "install", *_] if self.downloads:
                subprocess.run(command, cwd=self.work, env=os.environ | self.variables, check=True)
            case ["pip", "install", *_]:
                lend_packages(self.root / "python")
            case _:
                pytest.fail(f"Nothing here replays {command}.")

    def _copy(self, source: Path, target: str) -> None:
        # Of a folder it is what the folder holds.
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, self._place(target), ignore=ignored)
        else:
            shutil.copy(source, self._place(target))

    def _moved(self, value: str) -> str:
        return str(self._place(value)) if value.startswith("/") else value

    def _place(self, path: str) -> Path:
        return self.root / path[1:] if path.startswith("/") else self.work / path

    def command(self, words: list[str], environment: Mapping[str, str]) -> "subprocess.Popen[str]":
        """Start what a container of this image would run."""
        return subprocess.Popen(
            words,
            cwd=self.work,
            env=self.variables | environment,
            stdout=subprocess.PIPE,
            text=True,
        )


def steps() -> list[str]:
    """Return the instructions of the Dockerfile, each in one line."""
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()


@pytest.fixture
def services() -> dict[str, Any]:
    """The services of the compose file, with the secrets in their places."""

    def secret(found: re.Match[str]) -> str:
        return SECRETS[found[1]]

    text = re.sub(r"\$\{(\w+):\?\}", secret, (DEPLOY / "compose.yaml").read_text("utf-8"))
    services: dict[str, Any] = yaml.safe_load(text)["services"]
    return services


@contextmanager
def running(
    image: Image, service: Mapping[str, Any], environment: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Run a service until it is healthy; yield the first line it prints, and its port."""
    port = str(free_port())
    own = {**environment, "PORT": port, "WORKER_PORT": port}
    with image.command(service["command"], own) as process:
        assert process.stdout
        try:
            line = process.stdout.readline()
            kind, *check = service["healthcheck"]["test"]
            assert kind == "CMD"
            with image.command([word.replace(PORT, port) for word in check], {}) as checking:
                assert checking.wait() == 0
            yield line, port
        finally:
            process.terminate()


def read(port: str, path: str) -> str:
    """Return what the proxy gets that ends TLS."""
    as_asked = {"Host": "chat.example.org", "X-Forwarded-Proto": "https"}
    request = urllib.request.Request(f"http://localhost:{port}{path}", headers=as_asked)
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())


def replay(image: Image, services: dict[str, Any], database_url: str, redis: Redis) -> None:
    """Build the image, migrate, and run a web process and a worker of the compose file."""
    for instruction in steps():
        image.take(instruction)
    # Each container has a network of its own.
    addresses = {"DATABASE_URL": database_url, "REDIS_URL": redis.url}
    given = services["web"]["environment"] | addresses
    environment = {name: str(value) for name, value in given.items()}
    with image.command(services["migrate"]["command"], environment) as migrating:
        migrating.communicate()
        assert migrating.returncode == 0
    with (
        running(image, services["web"], environment) as (link, port),
        running(image, services["worker"], environment) as (said, _),
    ):
        assert link.startswith("https://chat.example.org/sign-in/"), link
        assert said == "Working.\n"
        page = read(port, "/sign-in/")
        (sheet,) = re.findall(r'href="(/static/css/site\.\w+\.css)"', page)
        assert "{" in read(port, sheet)
    assert (image.root / "var/lib/palimpsest/static").is_dir()


def test_the_steps_of_the_image_and_of_compose_make_a_server_and_a_worker(
    services: dict[str, Any], database_url: str, redis: Redis, tmp_path: Path
) -> None:
    """From the copied folders alone; a package manager, users and networks are left out."""
    replay(Image(tmp_path, downloads=False), services, database_url, redis)


@pytest.mark.soak
def test_the_packages_of_the_image_can_be_installed_as_it_says(
    services: dict[str, Any], database_url: str, redis: Redis, tmp_path: Path
) -> None:
    """From PyPI, with the hashes of the lock file."""
    replay(Image(tmp_path, downloads=True), services, database_url, redis)


def test_addresses_in_the_compose_file_lead_to_its_services(
    services: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the settings read them, with a password that both sides are given."""
    for name in ("DATABASE_URL", "REDIS_URL"):
        monkeypatch.setenv(name, services["web"]["environment"][name])
    database = read_database("DATABASE_URL", {})
    own = services[str(database["HOST"])]["environment"]
    assert own == {"POSTGRES_USER": database["USER"], "POSTGRES_PASSWORD": database["PASSWORD"]}
    redis = urlsplit(read_redis("REDIS_URL"))
    assert redis.password in services[str(redis.hostname)]["command"]
