"""How the messages of a request are written down.

A request is a list with an item for each of its messages:

    5                      message 5 as it is stored
    [5, 9]                 messages 5 to 9, each as it is stored
    [5, 800, 3, "text"]    message 5: its first 800 characters, the text, its last 3 characters
    [7]                    the bytes of fragment 7

A message that is stored is the JSON of its role and content, as :func:`plain` has written it ever
since: this, and the meaning of the items, must never change. No code that shapes requests is needed
to read them.
"""

from collections.abc import Iterable, Iterator

from chatapp.providers import wire

# A change of more characters is not said in the list, where it may come again and again.
LONGEST_CHANGE = 200

Item = int | tuple[int] | tuple[int, int, int, str]


def plain(role: str, content: object) -> bytes:
    """Return a stored message as it is sent where nothing is done to it."""
    return wire.encode({"role": role, "content": content})


def item_for(seq: int, sent: bytes, stored: bytes) -> Item | None:
    """Return what was sent as a message that is stored, None where that is of little use."""
    if sent == stored:
        return seq
    text, base = sent.decode(), stored.decode()
    start = _common(text, base)
    end = _common(text[: start - 1 : -1], base[: start - 1 : -1]) if start else 0
    change = text[start : len(text) - end]
    return (seq, start, end, change) if len(change) <= LONGEST_CHANGE else None


def _common(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def pack(items: Iterable[Item]) -> Iterator[object]:
    """Yield items as they are stored, with messages that follow each other as one."""
    first = last = 0
    for item in (*items, None):
        if isinstance(item, int) and first and item == last + 1:
            last = item
            continue
        if first:
            yield [first, last] if last > first else first
        first = last = item if isinstance(item, int) else 0
        if isinstance(item, tuple):
            yield [*item]


def unpack(stored: Iterable[object]) -> Iterator[Item]:
    """Yield the items that were stored."""
    for one in stored:
        match one:
            case [int(first), int(last)]:
                yield from range(first, last + 1)
            case int(seq):
                yield seq
            case [int(pk)]:
                yield (pk,)
            case [int(seq), int(start), int(end), str(text)]:
                yield (seq, start, end, text)
