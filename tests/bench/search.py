"""Searches as people type them; prints the milliseconds that each took.

Somebody remembers a message, and types a word of it or its beginning, two of its words, or three
that follow each other. One has half of all conversations, another a hundredth.
"""

import json
import random
import re
import time
from functools import partial

from django.contrib.auth.models import User

from chatapp.models import Message
from chatapp.models.message_index import visible_text
from chatapp.page.transcript.search_hits import find_hits
from tests.bench.clock import once
from tests.bench.crowd import NAMES

WORD = re.compile(r"[^\W\d_]{3,}")
# Words of a message that somebody may remember.
LEAST = 6
RUNS = 3


def type_something(chance: random.Random, first: int, last: int) -> str:
    """Return what somebody types who remembers one of the messages with keys from the first on."""
    words: list[str] = []
    while len(words) < LEAST:
        row = Message.objects.filter(pk__gte=chance.randint(first, last)).order_by("pk")[0]
        words = WORD.findall(visible_text(row.content))
    at = chance.randrange(len(words) - 3)
    word, other = words[at], chance.choice(words)
    phrase = " ".join(words[at : at + 3])
    ways = [word, word[: chance.randint(2, 4)], f"{word} {other}", f'"{phrase}"']
    return chance.choices(ways, weights=[4, 2, 3, 1])[0]


def main(times: int) -> None:
    """Search so often, each time as both people."""
    chance = random.Random(7)  # noqa: S311 - the same searches each time
    keys = Message.objects.order_by("pk").values_list("pk", flat=True)
    first, last = keys[0], keys.reverse()[0]
    people = User.objects.in_bulk([NAMES[0], NAMES[7]], field_name="username").values()
    taken = []
    for _ in range(times):
        text = type_something(chance, first, last)
        for person in people:
            search = partial(find_hits, person, text)
            # Whatever else the machine does only ever adds time.
            taken.append(1_000 * min(once(search, time.perf_counter) for _ in range(RUNS)))
    print(json.dumps(taken), flush=True)
