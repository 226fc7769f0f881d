import re

import condense
from chatapp.agent.ports import Model, Purpose
from chatapp.providers.offline.provider import OfflineProvider
from chatapp.providers.offline.summary import SUMMARY_SECTIONS
from tests.chatapp.providers.requests import assistant, call, reply, request, result, text_of, user

STORY = (
    user("My name is Alice. Fix the login bug in `auth.py`."),
    assistant("I read it.", call("read_file", "a", path="auth.py")),
    user(result("def login(): raise KeyError", "a")),
    assistant("And the tests.", call("run_command", "b", command="pytest test_auth.py")),
    user(result("exit code 1\nKeyError: no session", "b", is_error=True)),
    assistant("The login fails with a KeyError. I need the session store."),
    user("Never touch the session store. Remember to update CHANGELOG.md later."),
    assistant("Understood."),
)


async def summarise(
    *messages: condense.Message, focus: str = "", key: str = condense.CONDENSE
) -> str:
    """Return what the built-in model answers to the engine's own instruction."""
    offline = OfflineProvider(Model("offline", 200_000, 4_000), delay=0)
    instruction = user(condense.condense_instruction(focus=focus, key=key))
    asked = condense.shape_request([*messages, instruction])
    whole = await reply(
        offline,
        request(*asked, system=condense.load_prompt("summary_system"), purpose=Purpose.SUMMARY),
    )
    assert whole.stop_reason == "end_turn"
    return text_of(whole.content)


def section(text: str, title: str) -> str:
    """Return what stands under a heading of the summary."""
    found = re.search(rf"\d\. {title}:\n(.*?)(?=\n\n\d\. |\n</summary>)", text, re.DOTALL)
    assert found, f"no section {title!r} in {text}"
    return found[1]


def filler(number: int) -> list[condense.Message]:
    """Return an exchange that takes room."""
    return [
        user(f"Question {number}?"),
        assistant(" ".join(f"Word {number}.{at}." for at in range(200))),
    ]


async def test_a_summary_has_an_analysis_and_nine_sections() -> None:
    """The form that the prompt asks for, in order; a focus heads the summary."""
    text = await summarise(*STORY)
    assert text.startswith("<analysis>\n")
    body = text.partition("<summary>")[2]
    found = re.findall(r"^(\d)\. (.+):$", body, re.MULTILINE)
    assert found == [(str(number), title) for number, title in enumerate(SUMMARY_SECTIONS, start=1)]
    assert text.endswith("</summary>")
    text = await summarise(*STORY, focus="the days on which we deploy")
    first = section(text, "Primary Request and Intent").splitlines()[0]
    assert first.endswith("To be kept above all: the days on which we deploy")


async def test_each_section_holds_what_was_said_and_done() -> None:
    """Requests, files, errors, wishes; the same from tool blocks and from their text."""
    for flattened in (False, True):
        extra = [message for number in range(8) for message in filler(number)]
        story = [*STORY, *extra]
        text = await summarise(*(map(condense.tools_to_text, story) if flattened else story))
        assert "My name is Alice." in section(text, "Primary Request and Intent")
        assert "Never touch the session store." in section(text, "Constraints and Preferences")
        assert "auth.py (read_file): def login()" in section(text, "Results")
        assert "KeyError: no session" in section(text, "Failed Attempts and Errors")
        assert "Fix the login bug" in section(text, "Primary Request and Intent")
        assert "Question 7?" in section(text, "Primary Request and Intent")
        assert "Question 7?" in section(text, "Current Work")
        assert "The agent answered: “Word 7" in section(text, "Current Work")
        assert "Wait for the user's next message." in section(text, SUMMARY_SECTIONS[-1])
        assert "without a language model" in text.partition("</analysis>")[0]


async def test_beside_a_ledger_the_summary_repeats_no_messages() -> None:
    """But the first and the newest request; what was forbidden stands anyway."""
    said = [user("Use tabs instead of spaces."), assistant("I will send it by Monday.")]
    story = [*STORY, *said, *filler(0), *filler(1)]
    text = await summarise(*story, key=condense.BESIDE_LEDGER)
    intent = section(text, "Primary Request and Intent")
    assert "Fix the login bug" in intent
    assert "Question 1?" in intent
    assert "Use tabs" not in intent
    assert "Never touch the session store." in section(text, "Constraints and Preferences")


async def test_the_instruction_is_no_message_of_the_user() -> None:
    """Neither alone nor where it shares a message with the user's last words."""
    for story in (STORY, (*STORY, user("And now?"))):
        text = await summarise(*story)
        assert "system that runs the conversation" not in text
        assert "summar" not in section(text, "Primary Request and Intent").lower()
        assert ("Answer the user." in section(text, SUMMARY_SECTIONS[-1])) == (
            len(story) > len(STORY)
        )


async def test_a_summary_is_bounded() -> None:
    """At most 15 % of a long conversation, less than half of any, and never over 900 tokens."""
    counter = condense.TiktokenCounter(factor=1.0)
    for exchanges, share in ((2, 0.5), (8, 0.15), (40, 0.15)):
        story = [message for number in range(exchanges) for message in filler(number)]
        size = sum(counter.count(message.content) for message in story)
        assert counter.count(await summarise(*story)) <= min(900, share * size)


async def test_an_earlier_summary_is_carried_on() -> None:
    """Section by section; one of another form keeps its sentences where the intent stands."""
    first = await summarise(*STORY, *filler(0), *filler(1), *filler(2))
    body = first.partition("<summary>")[2].removesuffix("</summary>")
    earlier = user(f"{condense.load_prompt('summary_preface')}\n\n{body}")
    extra = [message for number in range(5, 10) for message in filler(number)]
    second = await summarise(earlier, assistant("Going on."), *extra)
    assert "My name is Alice." in section(second, "Primary Request and Intent")
    assert "auth.py (read_file)" in section(second, "Results")
    assert "KeyError: no session" in section(second, "Failed Attempts and Errors")
    assert "Question 9?" in section(second, "Current Work")
    assert "Question 2?" not in section(second, "Current Work")
    assert "This is the earlier part" not in second
    earlier = user(
        f"{condense.load_prompt('summary_preface')}\n\nThe gate code is 4711. It is raining."
    )
    text = await summarise(earlier, assistant("Yes."), *filler(1), *filler(2), *filler(3))
    assert "The gate code is 4711." in section(text, "Primary Request and Intent")
