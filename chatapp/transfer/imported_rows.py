"""Pieces become rows that fit each other; what does not fit is named."""

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.db import models

import condense
from chatapp.agent.annotated_blocks import has_rules
from chatapp.context import sizes
from chatapp.models import Conversation, Message, message_store
from chatapp.transfer import row_values
from chatapp.transfer.pieces import Unusable
from chatapp.transfer.record_tables import MESSAGES, TABLES, Table, renamed

# Of the random keys of one file's rows, in bits: the rest of each is the row's number.
_NUMBERED = 32
# The highest number that a message may have: what is said here needs some as well.
_HIGHEST = 10**9
_BY_SECTION = {table.section: table for table in TABLES}


class Rows:
    """Makes the rows of one conversation, whose keys follow from their numbers in the file.

    So a row can name another that is not made yet, if there are so many in the file.
    """

    def __init__(self, conversation: Conversation, counts: Mapping[str, int]) -> None:
        """Begin with nothing made of a file with so many items in each section."""
        self.conversation = conversation
        # By their numbers the keys of the messages that are stored, and by what the file calls
        # them in texts what they are called here.
        self.messages: dict[int, int] = {}
        self.names: dict[str, str] = {}
        # The number of the newest message.
        self.last_seq = 0
        self._base = uuid.uuid4().int >> _NUMBERED << _NUMBERED
        self._counts = counts
        self._made = Counter[str]()

    def learn(self, messages: Iterable[Message]) -> None:
        """Take in the keys of messages that are stored now."""
        for one in messages:
            self.messages[one.seq] = one.pk
            self.names[str(one.seq)] = str(one.pk)

    def message(self, item: Mapping[str, Any]) -> Message:
        """Return the row of the next message; raise Unusable.

        It has the number that the file says: a fork lacks what its original had set aside. What a
        summary or a marker says of messages, it says of those that are stored.
        """
        least = self.last_seq + 1
        seq = item.get("seq", least)
        told = {"seq": seq, "position": seq, **item}
        values = self._values(_BY_SECTION[MESSAGES], told, f"Message {seq}")
        values["cleared"] = _lines(values["cleared"])
        hidden = max((last for _first, last in values["hides"] or ()), default=0)
        stands = least <= values["seq"] <= _HIGHEST and 1 <= values["position"] <= values["seq"]
        if not stands or hidden >= values["seq"]:
            raise Unusable(f"Message {seq} stands where it can't.")
        self.last_seq = values["seq"]
        said = condense.Message.from_api({"role": values["role"], "content": values["content"]})
        values |= message_store.columns_of(said) | {"claimed": has_rules(said.content) or None}
        if not {"seq", "tokens"} & item.keys():
            values["tokens"] = condense.count_message(said, sizes.COUNTER)
        return Message(conversation=self.conversation, **values)

    def of(self, section: str, items: Iterable[Mapping[str, Any]]) -> Iterator[models.Model]:
        """Yield the next rows of a section; raise Unusable."""
        table = _BY_SECTION[section]
        for number, item in enumerate(items, self._made[section] + 1):
            where = f"Item {number} of {section}"
            if item.get("number", number) != number:
                raise Unusable(f"{where} has another number.")
            values = self._values(table, item, where)
            yield table.model(**values, **self._own(table, number))
            self._made[section] += 1

    def _own(self, table: Table, number: int) -> dict[str, Any]:
        """Return what a row has that the file does not say."""
        own: dict[str, Any] = {}
        if table.within == "conversation":
            own["conversation"] = self.conversation
        if isinstance(table.model._meta.pk, models.UUIDField):  # noqa: SLF001 - Django's documented API
            own["pk"] = self._key(number)
        return own

    def _values(self, table: Table, item: Mapping[str, Any], where: str) -> dict[str, Any]:
        try:
            told = renamed({**item}, self.names)
            values = {
                name: row_values.read(column, told[name])
                if name in told
                else row_values.missing(column)
                for name, column in table.columns.items()
            }
            for name, section in table.references.items():
                values[table.attribute(name)] = self._reference(section, item.get(name))
                if values[table.attribute(name)] is None and not table.may_lack(name):
                    raise Unusable(f"{name} is missing.")
        except (*row_values.WRONG, Unusable) as error:
            reason = error if isinstance(error, Unusable) else "it is not what it has to be."
            raise Unusable(f"{where}: {reason}") from error
        return values

    def _reference(self, section: str, number: Any) -> Any:
        """Return the key of the row that has this number."""
        if number is None:
            return None
        if type(number) is not int or number <= 0:
            raise Unusable(f"what it names of {section} is no number.")
        if section != MESSAGES:
            if number > self._counts[section]:
                raise Unusable(f"Item {number} of {section} is named, and missing.")
            return self._key(number)
        if number not in self.messages:
            raise Unusable(f"message {number} is named, and missing.")
        return self.messages[number]

    def _key(self, number: int) -> uuid.UUID:
        return uuid.UUID(int=self._base + number)


def _lines(cleared: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Return the lines that stand for results, by the keys of their messages."""
    try:
        return {
            name: {str(one): str(said) for one, said in of.items()} for name, of in cleared.items()
        }
    except AttributeError as error:
        raise Unusable("What stands in place of cleared results is not readable.") from error
