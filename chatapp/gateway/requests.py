"""Requests of clients: the bytes that came, and a copy that is read."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from django.contrib.auth.models import User
from django.utils import timezone

import condense
from chatapp.gateway import naming
from chatapp.gateway.bodies import Body, decoded, read_body
from chatapp.gateway.dialects import Dialect, RefusedRequest, RequestFacts
from chatapp.models import ApiToken, Message, Profile
from condense import noop

REQUEST_UNREADABLE = noop(
    "The client's request could not be read, so only its bytes are on record."
)
ODD = noop("Some of what the client sent could not be read; its bytes are on record.")


@dataclass(eq=False)
class GatewayRequest:
    """A request as it arrived; of one that ``is_odd`` only the bytes are read."""

    token: ApiToken
    dialect: Dialect
    profile: Profile | None
    headers: Mapping[str, str]
    raw: bytes
    program: str
    is_odd: bool = False
    arrived: datetime = field(default_factory=timezone.now)

    @property
    def owner(self) -> User:
        """The user of its token."""
        return self.token.owner

    @cached_property
    def body(self) -> Body:
        """Its JSON, with the places of the history in its decoded bytes."""
        try:
            plain = decoded(self.raw, self.headers.get("content-encoding", ""))
        except RefusedRequest:
            plain = self.raw
        return Body({}, plain) if self.is_odd else read_body(plain, self.dialect.history)

    @property
    def words(self) -> str:
        """The user's words in its newest message."""
        return next(self._said(), "")

    @property
    def asked(self) -> str:
        """The words that recall is asked with, behind which an earlier message may stand."""
        said = self._said()
        return condense.with_subject(next(said, ""), lambda: next(filter(str.strip, said), ""))

    def _said(self) -> Iterator[str]:
        """Yield the user's words in each message, the newest first, "" for those of others."""
        for one in reversed(self.history.entries):
            if not one.is_told:
                shown = {"role": one.role, "content": one.content}
                yield condense.Message.from_api(shown).words if one.role == "user" else ""

    @cached_property
    def told(self) -> RequestFacts:
        """The facts in its body."""
        return self.dialect.read(self.body.value)

    @property
    def model(self) -> str:
        """The model that is to answer."""
        return str(self.body.value.get("model") or "")[:100]

    @property
    def name(self) -> naming.Name:
        """The session it belongs to."""
        return naming.name_of(self.headers, self.told)

    @cached_property
    def history(self) -> naming.RequestHistory:
        """The messages that it shows, behind those that its provider holds, if they are stored."""
        there = Message.objects.filter(conversation__owner=self.owner, history_link__isnull=False)
        held: dict[str, str | None] = {"call__reply_id": self.told.follows}
        if not self.told.follows:
            held = {"conversation__client__session": self.name.session, "rewind_parent": None}
        named = there.filter(**held, conversation__deleted_at=None).order_by("-pk")
        row = named.first() if self.told.is_part else None
        root = naming.root_of(self.owner.pk, self.dialect.name)
        digest = bytes(row.history_link.digest) if row else root
        return naming.read_history(self.told, self.dialect, digest, follows=row is not None)

    @property
    def problem(self) -> str:
        """A sentence on its parts that are not on record as messages, "" if all are."""
        return REQUEST_UNREADABLE if not self.body.value else ODD if self.history.odd else ""
