"""Undo where the originals do not fit any more: its button, the numbers, and three ways."""

import json

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from chatapp.condensing import ratings
from chatapp.conversations import forks, rewind
from chatapp.conversations.toolbox.toolbox import outputs_of
from chatapp.models import Condensation, Conversation, Message, Pin, Profile, message_store
from tests.chatapp.audited import condense_on_record, entries, talk
from tests.chatapp.browsers import HTMX
from tests.chatapp.claude import answered_by
from tests.chatapp.queries import Steps
from tests.chatapp.web.api.programs import bearer
from tests.records import put_on_record

ORIGINALS = [1, 2, 3, 4]
WINDOW = 20_000


@pytest.fixture
def attempt(conversation: Conversation, alice: User) -> Condensation:
    """A condensation whose originals fill the window, with two messages behind it."""
    small = answered_by(alice, "anthropic", "claude-opus-5", "", context_window=WINDOW)
    Profile.objects.filter(pk=small.pk).update(max_output=WINDOW)
    Conversation.objects.update(profile=small)
    talk(conversation, "Where is north?", "Up.", "And south?", "Down.")
    made = condense_on_record(conversation, tokens_before=9_000, tokens_after=1_000)
    talk(conversation, "East?", "Right.")
    return made


def grow(tokens: int) -> None:
    """Have the last message take so much that the originals do not fit beside it."""
    Message.objects.filter(seq=1).update(tokens=8_000)
    Message.objects.filter(seq=7).update(tokens=tokens)


def address(attempt: Condensation, name: str) -> str:
    """Return where a button of its row leads."""
    return reverse(name, args=[attempt.conversation_id, attempt.pk])


def press(browser: Client, attempt: Condensation, name: str, **data: object) -> tuple[int, str]:
    """Press a button; return status and what is said, or where it leads."""
    answer = browser.post(address(attempt, name), data, headers=HTMX)
    return answer.status_code, answer.headers.get("HX-Redirect") or answer.text


def visible(conversation: Conversation) -> list[int]:
    """Return the numbers of what the model sees."""
    return [one.seq for one in message_store.read_effective(conversation.pk)]


def test_the_row_knows_if_the_originals_fit_and_its_button_does_as_it_says(
    browser: Client, attempt: Condensation, conversation: Conversation
) -> None:
    """Undo undoes; Undo… opens the ways; what no longer fits when it is pressed opens them too."""
    chat = reverse("chat", args=[conversation.pk])
    undo, ways = address(attempt, "undo_condensation"), address(attempt, "undo_preview")
    shown = browser.get(chat).text
    assert (f'hx-post="{undo}"' in shown, ways in shown) == (True, False)
    grow(9_000)
    shown = browser.get(chat).text
    assert (f'hx-post="{undo}"' in shown, f'hx-get="{ways}"' in shown) == (False, True)
    offered = browser.get(ways, headers=HTMX)
    refused = browser.post(undo, headers=HTMX)
    assert (offered.status_code, refused.status_code) == (200, 422)
    for answer in (offered, refused):
        assert "16,000 fit." in answer.text
        assert answer.headers["HX-Retarget"] == f"#ways-{attempt.pk}"
    assert visible(conversation) == [5, 6, 7]
    grow(10)
    assert "The originals fit. Undo this condensation?" in browser.get(ways, headers=HTMX).text
    assert press(browser, attempt, "undo_condensation")[0] == 204
    assert visible(conversation) == [*ORIGINALS, 6, 7]


def test_a_profile_with_room_is_switched_to_and_the_originals_are_back(
    browser: Client, attempt: Condensation, conversation: Conversation, alice: User
) -> None:
    """The smallest first that fits and that can be used; one that is too small changes nothing."""

    def add(window: int) -> Profile:
        return answered_by(alice, "anthropic", "claude-opus-5", "", context_window=window)

    names = {window: add(window) for window in (90_000, 18_000, 40_000)}
    keyless = add(50_000)
    Profile.objects.filter(pk=keyless.pk).update(encrypted_key="")
    grow(9_000)
    said = browser.get(address(attempt, "undo_preview"), headers=HTMX).text
    offered = [said.find(f"{names[one].name}</bdi> ({one // 1_000}k)") for one in (40_000, 90_000)]
    assert 0 < offered[0] < offered[1]
    assert said.count("Switch to") == 2
    small = press(browser, attempt, "undo_condensation", profile=names[18_000].pk)
    assert small[0] == 422
    conversation.refresh_from_db()
    assert conversation.profile not in names.values()
    assert press(browser, attempt, "undo_condensation", profile=names[40_000].pk)[0] == 204
    conversation.refresh_from_db()
    assert conversation.profile == names[40_000]
    assert visible(conversation) == [*ORIGINALS, 6, 7]


@pytest.mark.parametrize("follows", [True, False])
def test_a_branch_has_the_originals_and_what_came_later(
    browser: Client, attempt: Condensation, conversation: Conversation, *, follows: bool
) -> None:
    """Undone there, on record, where something follows it; this conversation stays as it is."""
    if not follows:
        Message.objects.filter(seq__gt=5).delete()
        Conversation.objects.update(last_seq=5)
    grow(9_000)
    before = visible(conversation)
    status, led = press(browser, attempt, "branch_with_originals")
    copy = Conversation.objects.exclude(pk=conversation.pk).get()
    assert (status, led) == (200, reverse("chat", args=[copy.pk]))
    assert visible(copy) == ([*ORIGINALS, 6, 7] if follows else ORIGINALS)
    assert visible(conversation) == before
    assert [one.status for one in copy.condensations.all()] == ["undone"] * follows


def test_a_branch_that_is_refused_leaves_no_files(
    browser: Client, attempt: Condensation, conversation: Conversation
) -> None:
    """An old page offers it for what was undone meanwhile; the outputs were linked by then."""
    kept = outputs_of(conversation.pk)
    kept.mkdir(parents=True)
    (kept / "long.txt").write_text("All of it.")
    assert press(browser, attempt, "undo_condensation")[0] == 204
    status, why = press(browser, attempt, "branch_with_originals")
    assert (status, why) == (422, "Only an active condensation can be undone.")
    assert Conversation.objects.count() == 1
    assert [one.name for one in kept.parent.iterdir()] == [kept.name]


def test_nothing_is_branched_where_a_rewind_took_all(
    browser: Client, attempt: Condensation, conversation: Conversation
) -> None:
    """The page that offered it is an old one."""
    rewind.rewind_conversation(conversation=conversation, first_hidden_seq=1)
    status, why = press(browser, attempt, "branch_with_originals")
    assert (status, why) == (422, "There is no such message here. Reload the page.")
    assert Conversation.objects.count() == 1


def test_what_was_said_of_a_summary_is_told_once_though_it_was_forked(
    attempt: Condensation, conversation: Conversation, alice: User
) -> None:
    """A fork has the rating as well."""
    attempt.refresh_from_db()
    for words in ("It lost Ines.", "It lost Ada."):
        ratings.rate_summary(condensation=attempt, rating=-1, words=words)
        forks.fork_conversation(conversation=conversation, seq=7)
    assert ratings.feedback_of(alice) == ("Bad: It lost Ada.", "Bad: It lost Ines.")


def test_few_of_many_attempts_are_read_for_what_was_said_of_summaries(
    attempt: Condensation, alice: User
) -> None:
    """Each turn asks for it."""
    attempt.refresh_from_db()
    ratings.rate_summary(condensation=attempt, rating=-1, words="It lost Ada.")
    taken = []
    for _ in range(2):
        with Steps() as steps:
            assert ratings.feedback_of(alice) == ("Bad: It lost Ada.",)
        taken.append(steps.count)
        for _number in range(200):
            put_on_record(attempt.conversation, at_seq=1)
    assert taken[1] < 1.1 * taken[0]


def test_some_messages_are_put_back_as_pins_on_record(
    browser: Client, attempt: Condensation, conversation: Conversation
) -> None:
    """Word for word, in their order; more than there is room for is refused whole."""
    grow(9_000)
    said = browser.get(address(attempt, "undo_preview"), headers=HTMX).text
    assert all(f'name="seq" value="{seq}"' in said for seq in ORIGINALS)
    # A fifth of a reserve and the nine thousand leave more than pins may take.
    assert f'data-room="{WINDOW // 4}"' in said
    before = len(entries(conversation))
    assert press(browser, attempt, "put_back_messages", seq=[4, 3, 99, "x"])[0] == 204
    *_old, south, down = message_store.read_effective(conversation.pk)
    assert ("And south?" in south.text, "Down." in down.text) == (True, True)
    assert Pin.objects.in_force(conversation.pk).count() == 2
    told = [json.loads(one.payload)["about"] for one in entries(conversation)[before:]]
    assert [one.partition(" ")[0] for one in told] == ["pin", "pin"]
    status, why = press(browser, attempt, "put_back_messages", seq=[1, 2])
    assert (status, why.startswith("These need about 8,010 tokens; ")) == (422, True)
    assert len(visible(conversation)) == 5


@pytest.mark.parametrize("by", ["program", "page"])
def test_without_scripts_a_sentence_says_the_numbers_and_the_ways(
    attempt: Condensation, alice: User, browser: Client, by: str
) -> None:
    """To a program as its refusal, on a page without scripts as a notice."""
    grow(9_000)
    if by == "program":
        where = f"/api/conversations/{attempt.conversation_id}/condensations/{attempt.pk}/undo"
        answer = Client(headers=bearer(alice, "all")).post(where)
    else:
        answer = browser.post(address(attempt, "undo_condensation"), follow=True)
    said = answer.content.decode()
    for part in ("The originals need about 1", "; 16,000 fit.", "larger window", "put back only"):
        assert part in said
