"""Whatever people do, in whatever order: no word is lost, nothing runs on, every call is on record.

Sends, tools, condensations and truncations are stopped or cancelled wherever they happen to be;
between them people rewind, take that back, edit, ask for other answers, try again, continue, go
from version to version, undo, redo, condense a part, pin, switch profiles, delete and restore.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from asgiref.sync import sync_to_async
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import condense
from chatapp.models import errors
from tests.chatapp.page.live.people import SCRIPTS, WORDS, Person, meet
from tests.standin.server import Standin

pytestmark = pytest.mark.django_db(transaction=True)

TEXTS = st.sampled_from([*WORDS])
MOMENTS = st.none() | st.integers(0, 400)
PLACES = st.integers(0, 30)
STEPS: dict[str, tuple[st.SearchStrategy[object], ...]] = {
    "say": (TEXTS, MOMENTS),
    "say_after": (st.sampled_from([*SCRIPTS]), MOMENTS, st.sampled_from(["", "retry", "continue"])),
    "take_up": (st.sampled_from(["retry", "continue"]), MOMENTS),
    "regenerate": (PLACES, MOMENTS),
    "edit": (PLACES, TEXTS, MOMENTS),
    "switch_version": (PLACES, st.booleans()),
    "condense": (MOMENTS, st.booleans()),
    "condense_part": (PLACES, MOMENTS),
    "rewind": (PLACES,),
    "pin": (PLACES, st.booleans()),
    "undo_rewind": (),
    "undo_condensation": (),
    "redo_condensation": (),
    "switch_profile": (st.booleans(),),
    "switch_automatic": (),
    "delete": (MOMENTS,),
}
Step = tuple[str, tuple[object, ...]]


def steps() -> st.SearchStrategy[list[Step]]:
    """Return sequences of what people do, each with its details."""
    names = [*STEPS, "say"]  # which they do most
    every = [st.tuples(st.just(name), st.tuples(*STEPS[name])) for name in names]
    return st.lists(st.one_of(*every), min_size=3, max_size=9)


async def take(step: Step, person: Person) -> None:
    """Take one step and check what it left; what is refused changes nothing."""
    name, details = step
    action: Callable[..., Awaitable[None]] = getattr(person, name)
    await sync_to_async(person.witness.look)()
    with suppress(errors.Refused, condense.CondenseError):
        await action(*details)
    await person.wait()
    await sync_to_async(person.witness.check)()


@given(sequence=steps())
@settings(
    # Each is a whole conversation.
    max_examples=settings().max_examples // 5,
    deadline=None,
    # Where threads meet, the same sequence may pass the next time: nothing to shrink.
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
async def test_no_word_is_lost_whatever_people_do(
    sequence: list[Step], anthropic_standin: Standin
) -> None:
    """Nothing runs on, nothing is paid for that is not on record, and all can be taken back."""
    person = await sync_to_async(meet)(anthropic_standin)
    for step in sequence:
        await take(step, person)
    await sync_to_async(person.witness.undo_everything)()
