"""How much of what is needed, was said or was planted the model still reads after a cut."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from condense.evaluation.needs import Item, Kind, Needs, Shown, Want, flat
from condense.evaluation.reading import text_of
from condense.messages import Message

REQUEST = 1_500  # characters of a message that have to stand there for it to count as kept
PIECE = 60  # characters; what users wrote is looked up in pieces of lines, cut at spaces


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many."""

    kept: int = 0
    of: int = 0

    def __add__(self, other: "Share") -> "Share":
        """Return both together."""
        return Share(self.kept + other.kept, self.of + other.of)


@dataclass(frozen=True, slots=True)
class Kept:
    """What a context after a cut still says of what came before it.

    ``needed_…`` were used before and at any time after the cut. ``next_…`` are what the next
    twenty calls name and the history before the cut held; ``actions`` those calls, of which all
    that they name so is there, or was seen again since. ``unseen`` is what no message in front of
    the model holds when it is first named, so that only summary or ledger can have supplied it.
    ``facts_…`` are those that were planted in what users and models said.
    """

    needed_files: Share = Share()
    needed_commands: Share = Share()
    edited_files: Share = Share()
    user_messages: Share = Share()
    user_characters: Share = Share()
    result_words: Share = Share()
    next_paths: Share = Share()
    next_commands: Share = Share()
    next_identifiers: Share = Share()
    next_items: Share = Share()
    actions: Share = Share()
    unseen: Share = Share()
    facts_of_users: Share = Share()
    facts_of_replies: Share = Share()

    def __add__(self, other: "Kept") -> "Kept":
        """Return both together."""
        names = [field.name for field in fields(self)]
        return Kept(**{name: getattr(self, name) + getattr(other, name) for name in names})


def what_is_kept(needs: Needs, context: Sequence[Message]) -> Kept:
    """Return how much the context still says, be it in a summary, a ledger or a message."""
    shown = Shown(text_of(context))
    verbatim = Shown(text_of(one for one in context if not (one.is_summary or one.is_marker)))
    return Kept(
        needed_files=_share(map(shown.names_file, needs.files)),
        needed_commands=_share(flat(command) in shown.text for command in needs.commands),
        edited_files=_share(map(shown.names_file, needs.edited)),
        user_messages=_share(_begins(text, shown) for text in needs.requests),
        user_characters=sum((_characters(text, shown) for text in needs.requests), Share()),
        result_words=_share(_begins(text, shown) for text in needs.answers),
        next_paths=_grounded(needs.wants, shown, "path"),
        next_commands=_grounded(needs.wants, shown, "command"),
        next_identifiers=_grounded(needs.wants, shown, "identifier"),
        next_items=_grounded(needs.wants, shown, "path", "command", "identifier"),
        actions=_actions(needs.wants, shown),
        unseen=_share(shown.shows(item) for item in _unseen(needs.wants, verbatim)),
        facts_of_users=_share(shown.says(one.text) for one in needs.planted if one.by_user),
        facts_of_replies=_share(shown.says(one.text) for one in needs.planted if not one.by_user),
    )


def _share(found: Iterable[bool]) -> Share:
    states = list(found)
    return Share(sum(states), len(states))


def _begins(text: str, shown: Shown) -> bool:
    return flat(text[:REQUEST]) in shown.text


def _characters(text: str, shown: Shown) -> Share:
    pieces = list(_pieces(text))
    return Share(sum(len(one) for one in pieces if one in shown.text), sum(map(len, pieces)))


def _pieces(text: str) -> Iterator[str]:
    """Yield the lines in pieces; one without a space in it is a piece however long it is."""
    for line in text.splitlines():
        piece = ""
        for word in line.split():
            if piece and len(piece) + len(word) >= PIECE:
                yield piece
                piece = ""
            piece = f"{piece} {word}" if piece else word
        if piece:
            yield piece


def _grounded(wants: Sequence[Want], shown: Shown, *kinds: Kind) -> Share:
    items = {item for want in wants for item in want.items if item.kind in kinds}
    return _share(map(shown.shows, items))


def _actions(wants: Sequence[Want], shown: Shown) -> Share:
    return _share(all(map(shown.shows, one.items - one.seen_since)) for one in wants if one.items)


def _unseen(wants: Sequence[Want], verbatim: Shown) -> Iterator[Item]:
    """Yield what is named before any message in front of the model holds it."""
    known: set[Item] = set()
    for want in wants:
        yield from (
            item for item in want.items - want.seen_since - known if not verbatim.shows(item)
        )
        known |= want.items
