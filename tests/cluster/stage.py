"""What a test of a cluster works with: people, their conversations and pages, and the record."""

import contextlib
import http.client
import itertools
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from chatapp.models import ApiToken, SignInToken
from chatapp.models.accounts import OWNER_NAME
from chatapp.page.live.live_views import LiveViews
from tests.chatapp.visitors import Visitor
from tests.cluster.cluster import Cluster
from tests.cluster.narrator import Narrator, Story, read_words
from tests.cluster.nodes import Node
from tests.cluster.pages import Page, Reading
from tests.cluster.services import PATIENCE

# For facts in which one process has no part.
in_cluster = pytest.mark.parametrize("cluster", ["cluster"], indirect=True)
# For those that are worth the time in both wirings, also in every run.
in_both = pytest.mark.parametrize("cluster", ["cluster", "alone"], indirect=True)

# Seconds of words that a kill may take: what is written is stored twice a second.
LOST = 0.5
# Seconds from a kill to the moment at which the turns of the dead are interrupted or taken over …
NOTICED = 10.0
# … and from then until pages show that, also where who did it was killed before it told anybody.
SHOWN = LiveViews.interval + 2.0
# What a machine is granted on which everything takes longer, since others use it too.
BUSY = 2


def make_link(cluster: Cluster, name: str = OWNER_NAME) -> str:
    """Return the path of a link that signs a user in, and ends no other."""
    token = SignInToken.generate()
    cluster.ask(
        "INSERT INTO chatapp_signintoken (user_id, digest, expires_at) "
        "SELECT id, %s, now() + interval '1 hour' FROM auth_user WHERE username = %s",
        SignInToken.digest_of(token),
        name,
    )
    return f"/sign-in/{token}/"


class Person(Visitor):
    """Somebody who is signed in, at all web processes with the same cookies."""

    def __init__(self, cluster: Cluster, name: str = OWNER_NAME) -> None:
        super().__init__(cluster.web(1).origin + make_link(cluster, name))

    def at(self, web: Node) -> "Person":
        """Go to a web process."""
        self.origin = web.origin
        return self

    def converse(self) -> uuid.UUID:
        """Return a new conversation."""
        self.post("/c/new/")
        return uuid.UUID(self.address.strip("/").rpartition("/")[2])


class Stage:
    """A running cluster, the model, somebody who is signed in, and what they opened."""

    def __init__(self, cluster: Cluster, narrator: Narrator, reading: Reading) -> None:
        self.cluster = cluster
        self.narrator = narrator
        self.reading = reading
        self.person = Person(cluster)
        self.pages: list[Page] = []

    def converse(self, person: Person | None = None) -> uuid.UUID:
        """Return a new conversation of a person's, begun where a web process answers."""
        for web in itertools.cycle(self.cluster.webs):
            with contextlib.suppress(OSError):
                return (person or self.person).at(web).converse()
        raise AssertionError

    def open(self, conversation: uuid.UUID, web: int = 1, *, person: Person | None = None) -> Page:
        """Open a page of a conversation at a web process, past its snapshot."""
        origin, cookie = self.cluster.web(web).origin, (person or self.person).cookie
        page = Page(self.reading, origin, conversation, cookie)
        self.pages.append(page)
        page.until("snapshot")
        return page

    def begin(
        self, told: Story, *, web: int = 1, also: int = 0, person: Person | None = None
    ) -> Page:
        """Ask for a story in a new conversation; return the page, or that at ``also``.

        Threads that do so at the same time need a ``person`` each, who is at one page at a time.
        """
        conversation = self.converse(person)
        page = self.open(conversation, web, person=person)
        other = self.open(conversation, also, person=person) if also else page
        page.ask(told)
        return other

    def begin_together(self, *stories: Story) -> list[tuple[Page, Story]]:
        """Have a few stories told at the same time, and return once all pages show some of them.

        Each that is held takes one of the model's few threads.
        """
        gates = [self.narrator.hold(told.number) for told in stories]
        begun = [(self.begin(told, web=1 + n % 2), told) for n, told in enumerate(stories)]
        for page, told in begun:
            page.until_words(told)
        for gate in gates:
            gate.open()
        for page, told in begun:
            page.until_words(told, 9)
        return begun

    # The record

    def stored(self, conversation: uuid.UUID) -> list[str]:
        """Return the words of what the model said, as stored, in the order of writing."""
        rows = self.cluster.ask(
            "SELECT content FROM chatapp_message WHERE conversation_id = %s "
            "AND role = 'assistant' ORDER BY seq",
            conversation,
        )
        blocks = [block for (content,) in rows for block in content]
        return [word for block in blocks for word in read_words(block.get("text", ""))]

    def turns(self, conversation: uuid.UUID) -> list[tuple[str, str]]:
        """Return status and owner of all turns, the newest last."""
        return [
            (status, owner)
            for status, owner in self.cluster.ask(
                "SELECT status, owner FROM chatapp_turn WHERE conversation_id = %s "
                "ORDER BY started_at, id",
                conversation,
            )
        ]

    def runner_of(self, page: Page) -> Node:
        """Return the process that the newest turn runs in, which has begun to answer."""
        owner = self.turns(page.conversation)[-1][1]
        node = self.cluster.node_of(owner)
        assert node, f"{owner} is none of the processes"
        return node

    def check(self, page: Page, told: Story, *, whole: bool = True) -> None:
        """The page shows what is stored: the story, or its beginning; once, and in order."""
        stored = self.stored(page.conversation)
        assert stored == list(told.words[: len(stored)])
        assert not whole or len(stored) == told.length
        assert page.words == stored
        assert page.screen.wrong == []

    def check_after_kill(self, page: Page, told: Story, killed_at: float) -> None:
        """As ``check``; and only the last moment before a kill is lost, but for what delayed us."""
        self.check(page, told, whole=False)
        stored = {*self.stored(page.conversation)}
        is_slow = self.reading.was_busy_since(killed_at - 2 * LOST)
        moment = killed_at - (2 if is_slow else 1) * LOST - self.reading.late_since(killed_at - 1)
        lost = [w for w, shown in page.shown.items() if w not in stored and shown < moment]
        assert lost == [], (
            f"shown up to {killed_at - min(page.shown[w] for w in lost):.2f} s before"
        )

    # Programs

    def send_by_program(
        self, conversation: uuid.UUID, text: str, web: int
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Send a message through the API at a web process; yield the events as they are heard."""
        token = ApiToken.generate()
        self.cluster.ask(
            "INSERT INTO chatapp_apitoken (owner_id, name, scope, digest, created_at) "
            "SELECT id, 'script', 'write', %s, now() FROM auth_user WHERE username = %s",
            ApiToken.digest_of(token),
            OWNER_NAME,
        )
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.cluster.web(web).port, timeout=PATIENCE
        )
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        body = json.dumps({"text": text, "nonce": str(uuid.uuid4())})
        connection.request("POST", f"/api/conversations/{conversation}/messages", body, headers)
        with contextlib.closing(connection), connection.getresponse() as answer:
            assert answer.status == 200, answer.read()
            name = ""
            for line in answer:
                key, _, value = line.decode().rstrip("\n").partition(": ")
                if key == "event":
                    name = value
                elif key == "data":
                    yield name, json.loads(value)
