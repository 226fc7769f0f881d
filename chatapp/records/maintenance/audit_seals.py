"""Seals: the signed heads of all audit chains, to be kept out of this server's reach.

A chain that was cut or written anew as a whole fits itself; it does not fit an older seal.
"""

import asyncio
import hashlib
import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connections, transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from chatapp.models import AuditEntry, Conversation, audit
from chatapp.models.errors import BadSeal
from chatapp.project.environment import read_or_create_secret
from chatapp.project.sentences import translate as _
from chatapp.records.maintenance import audit_check
from chatapp.records.maintenance.backups import SEAL_KEY, dated_file

SEAL_FORMAT = "palimpsest seal 1"


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry of a chain when it was sealed."""

    conversation: uuid.UUID
    number: int
    hash: str


def has_key() -> bool:
    """Return True if this server has sealed before, or was given a key to seal with."""
    return bool(settings.SEAL_KEY) or _key_file().exists()


def public_key() -> str:
    """Return the public key of this server's seals, in hex."""
    return _key().public_key().public_bytes_raw().hex()


def _key_file() -> Path:
    return Path(settings.DATA_DIR) / SEAL_KEY


def _key() -> Ed25519PrivateKey:
    secret = settings.SEAL_KEY or read_or_create_secret(_key_file())
    return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(secret.encode()).digest())


def make_seal(owner: User | None = None) -> str:
    """Return a seal of every chain, as JSON; messages since the last entry get one first.

    A seal of one ``owner``'s chains has their entries, too. Raises BadSeal if other machines would
    make another key for theirs.
    """
    if settings.CLUSTER and not settings.SEAL_KEY:
        raise BadSeal(_("SEAL_KEY is not set: each machine would seal with a key of its own."))
    heads: dict[str, dict[str, object]] = {}
    # An import that runs may yet be refused.
    there = Conversation.objects.exclude(source__importer__gt="")
    there = there.owned_by(owner).present() if owner else there
    pks = there.order_by("created_at", "pk").values_list("pk", flat=True)
    for pk in list(pks):
        with transaction.atomic():
            locked = Conversation.objects.select_for_update(no_key=True).filter(pk=pk).first()
            if locked and locked.last_seq > locked.audit_seq:
                audit.append(pk, AuditEntry.Kind.SEAL)
                locked.refresh_from_db(fields=["audit_number", "audit_hash"])
        if locked and locked.audit_number:
            heads[str(pk)] = {"number": locked.audit_number, "hash": locked.audit_hash}
    seal: dict[str, object] = {
        "format": SEAL_FORMAT,
        "sealed_at": audit.moment(timezone.now()),
        "public_key": public_key(),
        "heads": heads,
    }
    if owner:
        seal["chains"] = [audit_check.chain_of(one) for one in there.filter(pk__in=heads)]
    signature = _key().sign(audit.written(seal).encode()).hex()
    return json.dumps({**seal, "signature": signature}, indent=1)


def write_seal(path: Path) -> None:
    """Write a seal into a new file."""
    seal = make_seal()
    with path.open("x", encoding="utf-8") as file:
        file.write(seal)


def last_sealed() -> datetime | None:
    """Return the time of the newest seal in DATA_DIR/seals, None without one."""
    seals = [one.stat().st_mtime for one in (Path(settings.DATA_DIR) / "seals").glob("*.json")]
    return datetime.fromtimestamp(max(seals), UTC) if seals else None


async def seal_audit() -> None:
    """Write a seal into DATA_DIR/seals, as a background job."""

    def seal() -> None:
        try:
            write_seal(dated_file("seals", ".json"))
        finally:
            connections.close_all()

    # In a thread of its own: writes of this process wait for each other in theirs.
    await asyncio.to_thread(seal)


def read_seal(text: str, key: str) -> list[Head]:
    """Return the heads in a seal; raise BadSeal if it lacks ``key``'s signature."""
    try:
        seal = json.loads(text)
        signature = bytes.fromhex(seal.pop("signature"))
        if seal["format"] != SEAL_FORMAT:
            raise BadSeal(_("The seal was made by another version."))
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(
            signature, audit.written(seal).encode()
        )
        heads: Mapping[str, Any] = seal["heads"]
        return [Head(uuid.UUID(pk), one["number"], one["hash"]) for pk, one in heads.items()]
    except InvalidSignature:
        raise BadSeal(
            _("The signature does not fit: the file was changed, or another key has signed it.")
        ) from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadSeal(_("This is no seal, or not a whole one: {error}.", error=error)) from error


def compare(head: Head) -> str:
    """Return a sentence on a chain's fault since it was sealed, "" if it only grew."""
    pk, number = head.conversation, head.number
    if not Conversation.objects.filter(pk=pk).exists():
        return _(
            "Conversation {id} was sealed with {count} entry, and is not there any more.",
            "Conversation {id} was sealed with {count} entries, and is not there any more.",
            id=pk,
            count=number,
        )
    said = ""
    entry = AuditEntry.objects.filter(conversation=pk, number=number).first()
    if entry is None:
        said = gettext_noop("Conversation {id}: entry {number}, which was sealed, is missing.")
    elif entry.hash != head.hash:
        said = gettext_noop("Conversation {id}: entry {number} is not the one that was sealed.")
    return said and _(said, id=pk, number=number)
