import re
from collections.abc import Callable
from pathlib import Path

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow
from chatapp.agent.prompts import CONTINUE
from chatapp.agent.provider import Model
from chatapp.providers.offline.chat import OUT_OF_SIGHT, UNABLE, WHOLE
from chatapp.providers.offline.essay import write_essay
from chatapp.providers.offline.gist import gist
from chatapp.providers.offline.provider import OfflineProvider
from chatapp.tools import search_files
from chatapp.tools.workspace import Workspace
from tests.chatapp.providers.requests import (
    TOOLS,
    assistant,
    call,
    listen,
    reply,
    request,
    result,
    text_of,
    user,
)

Ask = Callable[..., object]


@pytest.fixture
def offline() -> OfflineProvider:
    """The stand-in, in a hurry."""
    return OfflineProvider(Model("offline", 16_000, 4_000), delay=0)


async def answer(offline: OfflineProvider, *messages: condense.Message | str) -> str:
    """Return the text of the reply to a conversation."""
    return text_of((await reply(offline, request(*messages))).content)


@pytest.mark.parametrize("question", ["Hello!", "Who are you?", "help", "Are you an AI?"])
async def test_it_says_what_it_is_and_how_to_get_more(
    offline: OfflineProvider, question: str
) -> None:
    """Nobody should take it for a language model."""
    text = await answer(offline, question)
    assert "without a language model" in text
    assert "Profiles" in text


async def test_it_admits_what_it_cannot_answer(offline: OfflineProvider) -> None:
    """No guess, no invention."""
    text = await answer(offline, "What is the capital of France?")
    assert "I found nothing about that" in text
    assert "no language model" in text


async def test_it_remembers_a_name(offline: OfflineProvider) -> None:
    """The latest introduction counts."""
    history = (user("My name is Bob."), assistant("Noted."), user("Call me Alice, please."))
    text = await answer(offline, *history, assistant("Noted."), "What is my name?")
    assert text.startswith("Your name is Alice")


@pytest.mark.parametrize(
    "question",
    ["What did I say about deploying?", "When do we deploy?", "what did we say about deployments?"],
)
async def test_it_finds_what_was_said_before(offline: OfflineProvider, question: str) -> None:
    """Words match in their various forms; the user's own words come first."""
    history = (
        user("Lunch is at noon. We deploy on Fridays. The sky is blue."),
        assistant("Noted: “We deploy on Fridays.”"),
    )
    text = await answer(offline, *history, question)
    assert text.count("- ") == 1
    assert "you said: “We deploy on Fridays.”" in text


async def test_it_finds_what_only_a_summary_still_holds(offline: OfflineProvider) -> None:
    """After a condensation the summary and the new question share one message."""
    summary = f"{condense.summary_preface()}\n\n6. All User Messages:\n   - We deploy on Fridays."
    text = await answer(offline, user(summary, "When do we deploy?"))
    assert "the summary of the earlier conversation says: “We deploy on Fridays.”" in text


async def test_it_notes_what_it_is_told(offline: OfflineProvider) -> None:
    """A statement is repeated, so that one sees that it arrived."""
    text = await answer(offline, "The gate code is 4711.")
    assert "Noted: “The gate code is 4711.”" in text


@pytest.mark.parametrize("words", [40, 500, 2_500])
async def test_it_writes_as_many_words_as_asked(offline: OfflineProvider, words: int) -> None:
    """Enough to fill a window with, the same for the same wish."""
    wish = f"Please write {words:,} words about bees."
    text = await answer(offline, wish)
    assert abs(len(text.split()) - words) <= max(6, words // 50)
    assert "about bees" in text
    assert text == await answer(offline, wish)


async def test_a_long_text_repeats_no_sentence(offline: OfflineProvider) -> None:
    """It stays readable: other sentences in every part, under headings."""
    text = await answer(offline, "write a long text about ships")
    found = re.findall(r"[A-Z][^.#]+\.", text)
    assert len(found) > 40
    assert len(set(found)) == len(found)
    assert text.count("## Part") > 2
    assert write_essay("ships", 300) != write_essay("bees", 300).replace("bees", "ships")


async def test_it_streams_in_groups_of_words_with_pauses() -> None:
    """The pieces add up to the reply; between them it waits as long as it was told."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    offline = OfflineProvider(Model("offline", 16_000, 4_000), delay=0.5, sleep=sleep)
    told = await listen(offline, request("write 100 words"))
    pieces = [event.text for event in told if isinstance(event, events.TextStreamed)]
    whole = told[-1]
    assert isinstance(whole, events.ReplyCompleted)
    assert "".join(pieces) == text_of(whole.content)
    assert len(pieces) > 15
    assert slept == [0.5] * len(pieces)


async def test_usage_is_a_real_count(offline: OfflineProvider) -> None:
    """Prompt and reply are counted as the engine counts them, blocks with their frames."""
    counter = condense.PromptCounter()
    asked = request("The gate code is 4711.", system="Be kind.")
    whole = await reply(offline, asked)
    expected = counter.count("Be kind.") + counter.count(asked.messages[0].content)
    assert whole.usage.input == expected == await offline.count_tokens(asked)
    assert whole.usage.output == counter.count(text_of(whole.content))


async def test_tools_count_too(offline: OfflineProvider) -> None:
    """Their specifications are part of the prompt."""
    bare = await offline.count_tokens(request("Hi"))
    tools = await offline.count_tokens(request("Hi", tools=TOOLS))
    assert bare is not None
    assert tools is not None
    assert tools > bare + 20


async def test_the_window_is_enforced() -> None:
    """A prompt that is too long is refused in the words of a real provider."""
    offline = OfflineProvider(Model("offline", 100, 50), delay=0)
    with pytest.raises(ContextOverflow, match=r"prompt is too long: \d+ tokens > 100 maximum"):
        await listen(offline, request("word " * 200))


async def test_a_reply_is_cut_at_the_limit() -> None:
    """Neither the model's longest reply nor the window is exceeded."""
    offline = OfflineProvider(Model("offline", 16_000, 100), delay=0)
    whole = await reply(offline, request("write 2,000 words"))
    assert whole.stop_reason == "max_tokens"
    assert 50 < whole.usage.output <= 100


async def run_tools(
    offline: OfflineProvider, question: str, answers: dict[str, str]
) -> tuple[list[tuple[str, object]], str]:
    """Play the agent loop: return the calls that were made, and the final text."""
    history: list[condense.Message] = [user(question)]
    calls: list[tuple[str, object]] = []
    while True:
        whole = await reply(offline, request(*history, tools=TOOLS))
        history.append(condense.Message("assistant", whole.content))
        uses = history[-1].tool_uses
        if not uses:
            return calls, history[-1].text
        assert whole.stop_reason == "tool_use"
        calls += [(use.name, use.input) for use in uses]
        argument = uses[0].input.get("path") or uses[0].input.get("pattern", "")
        text = answers.get(argument, "There is no such file.")
        history.append(user(result(text, uses[0].id, is_error=argument not in answers)))


FILES = {
    "": "README.md\nsrc/\nsrc/app.py  (12 lines)",
    "README.md": "# Demo\n\nA small project.",
    "src/app.py": "print('hi')",
    "TODO": "README.md:3: TODO",
}


@pytest.mark.parametrize(
    ("question", "calls", "words"),
    [
        ("List the files.", [("list_files", {})], "There are 2 files"),
        ("read README.md", [("read_file", {"path": "README.md"})], "A small project."),
        (
            "Please read `README.md` and src/app.py.",
            [("read_file", {"path": "README.md"}), ("read_file", {"path": "src/app.py"})],
            "print('hi')",
        ),
        (
            "read all files",
            [
                ("list_files", {}),
                ("read_file", {"path": "README.md"}),
                ("read_file", {"path": "src/app.py"}),
            ],
            "I read 2 files, 6 words in all.",
        ),
        ("search for TODO", [("search_files", {"pattern": "TODO"})], "`TODO` gave 1 line."),
        (
            'search "TODO" in src',
            [("search_files", {"pattern": "TODO", "path": "src"})],
            "failed: There is no such file.",
        ),
        ("read nothing.txt", [("read_file", {"path": "nothing.txt"})], "failed"),
    ],
)
async def test_tools_are_used_when_asked_for(
    offline: OfflineProvider, question: str, calls: list[tuple[str, object]], words: str
) -> None:
    """One call per step; the answer quotes and counts what the tools said."""
    made, text = await run_tools(offline, question, FILES)
    assert made == calls
    assert words in text


async def test_numbered_lines_stay_below_each_other(offline: OfflineProvider) -> None:
    """The first is as far in as the others."""
    lines = "     1\tone\n     2\ttwo"
    _made, text = await run_tools(offline, "read README.md", {"README.md": f"{lines}\n"})
    assert f"```text\n{lines}\n```" in text


async def test_a_search_in_vain_is_said_as_one(offline: OfflineProvider, tmp_path: Path) -> None:
    """In the words of the tool itself; they are no line that was found."""
    nothing = search_files.run(Workspace(tmp_path), search_files.Arguments("TODO"))
    _, text = await run_tools(offline, "search for TODO", {"TODO": nothing})
    assert text.endswith("I searched the files for `TODO`. No line matches.")


async def test_every_call_has_an_id_of_its_own(offline: OfflineProvider) -> None:
    """Also across turns, as the API demands."""
    history = (user("list files"), assistant(call("list_files", "offline_1_1")), user(result("a")))
    first = await reply(offline, request("list files", tools=TOOLS))
    later = request(*history, assistant("One."), "list files", tools=TOOLS)
    ids = {
        block.id
        for whole in (first, await reply(offline, later))
        for block in whole.content
        if isinstance(block, condense.ToolUseBlock)
    }
    assert len(ids) == 2


async def test_tools_that_are_not_offered_are_not_called(offline: OfflineProvider) -> None:
    """Without tools it only talks."""
    whole = await reply(offline, request("read README.md"))
    assert whole.stop_reason == "end_turn"


async def test_a_task_goes_on_after_a_condensation(offline: OfflineProvider) -> None:
    """The request is repeated after the summary: files that this names are not read again."""
    recap = user(
        "## Conversation Summary\n3. Files and Code Sections:\n   - README.md (read_file): # Demo",
        "## Newest Request, Verbatim\nread all files",
        "<environment_details>\nfiles\n</environment_details>",
    )
    listed = (assistant(call("list_files")), user(result("README.md\nsrc/app.py")))
    step = await reply(offline, request(recap, tools=TOOLS))
    assert isinstance(step.content[-1], condense.ToolUseBlock)
    assert step.content[-1].name == "list_files"
    step = await reply(offline, request(recap, *listed, tools=TOOLS))
    assert isinstance(step.content[-1], condense.ToolUseBlock)
    assert step.content[-1].input == {"path": "src/app.py"}


async def test_only_people_ask_questions(offline: OfflineProvider) -> None:
    """What the engine writes into a user message is not taken for one of the user's."""
    text = await answer(
        offline, user("We deploy on Fridays.", "[12 messages hidden]"), "When deploy?"
    )
    assert "We deploy on Fridays." in text
    assert "Hello" not in await answer(offline, user("[The conversation continues from here.]"))


WISH = "Write 900 words about maps."


@pytest.mark.parametrize("wish", [CONTINUE, "Continue", "Please go on."])
async def test_an_answer_that_was_cut_goes_on_where_it_broke_off(
    offline: OfflineProvider, wish: str
) -> None:
    """As often as it takes, and without repeating a word."""
    short = OfflineProvider(Model("offline", 16_000, 500), delay=0)
    history: list[condense.Message] = [user(WISH)]
    while (part := await reply(short, request(*history))).stop_reason == "max_tokens":
        history += [assistant(text_of(part.content)), user(wish)]
    parts = [one.text for one in history if one.role == "assistant"] + [text_of(part.content)]
    assert len(parts) > 2
    assert " ".join(" ".join(parts).split()) == " ".join((await answer(offline, WISH)).split())


async def test_a_whole_answer_has_no_rest(offline: OfflineProvider) -> None:
    """It says so, also when asked twice."""
    history = [user(WISH), assistant(await answer(offline, WISH)), user(CONTINUE)]
    assert await answer(offline, *history) == WHOLE
    assert await answer(offline, *history, assistant(WHOLE), user(CONTINUE)) == WHOLE


async def test_it_does_not_go_on_with_what_it_cannot_see(offline: OfflineProvider) -> None:
    """Of an answer behind a summary, or of a question that it cannot answer the same way again."""
    summary = user(f"{condense.summary_preface()}\n\n1. Primary Request and Intent:\n   - Maps.")
    assert await answer(offline, summary, user(CONTINUE)) == OUT_OF_SIGHT
    assert await answer(offline, WISH, assistant("Something else."), user(CONTINUE)) == OUT_OF_SIGHT


async def test_a_wish_to_go_on_is_not_what_the_user_said(offline: OfflineProvider) -> None:
    """What is looked up later is the question, not the button."""
    history = (user("Noted."), assistant("You are"), user(CONTINUE), assistant("welcome."))
    text = await answer(offline, *history, "What did I say about how the last answer broke off?")
    assert "I found nothing about that" in text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# Maps\n\n- [x](y)\n\nA map is flat. It lies.\n", "Maps: A map is flat."),
        ("# News\n\n### Added\n- Maps in\n  colour. Good.\n- More.\n", "News: Maps in colour."),
        ("# Nothing", "Nothing"),
    ],
)
def test_a_file_is_named_by_its_heading_and_what_it_says_first(text: str, said: str) -> None:
    """A paragraph where there is one, a list's first item otherwise."""
    assert gist(text) == said


@pytest.mark.parametrize("task", ["Help me decide.", "Please explain this.", "Write a poem."])
async def test_it_says_which_tasks_take_a_language_model(
    offline: OfflineProvider, task: str
) -> None:
    """And what it can do instead; a task is nothing to be noted."""
    assert await answer(offline, task) == UNABLE


async def test_it_says_where_to_start_reading(offline: OfflineProvider) -> None:
    """It lists the files, and looks into the one that introduces them."""
    asked = user("Which files are here, and where should I start reading?")
    found = result("README.md (7 KB)\nother.md (1 KB)", "c1")
    history = [asked, assistant(call("list_files", "c1")), user(found)]
    step = await reply(offline, request(*history, tools=TOOLS))
    (used,) = [one for one in step.content if isinstance(one, condense.ToolUseBlock)]
    assert (used.name, used.input) == ("read_file", {"path": "README.md"})
    history += [
        assistant(call("read_file", "c2", path="README.md")),
        user(result("     1\t# Maps\n     2\t\n     3\tA map is flat.", "c2")),
    ]
    text = text_of((await reply(offline, request(*history, tools=TOOLS))).content)
    assert "There are 2 files." in text
    assert text.endswith("Start with `README.md`: Maps: A map is flat.")
