import re

import pytest

import condense
from chatapp.agent import events
from chatapp.agent.errors import ContextOverflow
from chatapp.agent.ports import Model
from chatapp.project.languages import NAMES, Reader
from chatapp.project.sentences import translate as _
from chatapp.providers.offline.answer import ABOUT, EXAMPLES, clip, gist
from chatapp.providers.offline.provider import OfflineProvider
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


@pytest.fixture
def offline() -> OfflineProvider:
    """The built-in model, in a hurry."""
    return OfflineProvider(Model("offline", 16_000, 4_000), delay=0)


async def answer(offline: OfflineProvider, *messages: condense.Message | str) -> str:
    """Return the text of the reply to a conversation."""
    return text_of((await reply(offline, request(*messages))).content)


async def test_it_says_that_it_is_no_language_model(offline: OfflineProvider) -> None:
    """And where to get one; it guesses nothing."""
    for said in ("Hello!", "Are you an AI?", "What is the capital of France?", "Write a poem."):
        text = await answer(offline, said)
        assert "no language model" in text
        assert "Profiles" in text


async def test_it_tells_who_said_what(offline: OfflineProvider) -> None:
    """How often each spoke, and the newest of it; what the engine wrote is nobody's words."""
    preface = (
        f"{condense.load_prompt('summary_preface')}\n\n1. Primary Request and Intent:\n   - Deploy."
    )
    text = await answer(
        offline,
        user(preface, "We deploy on Fridays.", "[12 messages hidden]"),
        assistant("Understood.", call("read_file")),
        user(result("The gate code is 4711.")),
        "When do we deploy?",
    )
    assert "(Summary: 1, You: 2, I: 1, Result of read_file: 1)" in text
    assert "- You: “We deploy on Fridays.”\n- I: “Understood.”" in text
    assert "- Result of read_file: “The gate code is 4711.”" in text
    assert "- Summary: “1. Primary Request and Intent: - Deploy.”" in text
    assert text.endswith("- You: “When do we deploy?”")


async def test_it_writes_as_many_words_as_asked(offline: OfflineProvider) -> None:
    """Enough to fill a window with, the same for the same wish."""
    for words in (40, 500, 2_500):
        wish = f"Please write {words:,} words about bees."
        text = await answer(offline, wish)
        assert len(text.split()) == words
        assert text == await answer(offline, wish)
        sentences = re.findall(r"[A-Z][^.]+\.", text)
        assert len({*sentences}) == len(sentences)


async def test_it_streams_in_groups_of_words_with_pauses() -> None:
    """The pieces add up to the reply; between them it waits as long as it was told."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    offline = OfflineProvider(Model("offline", 16_000, 4_000), delay=0.5, sleep=sleep)
    told = await listen(offline, request("write 100 words"))
    pieces = [event.text for event in told if isinstance(event, events.TextStreamed)]
    whole = told[-1]
    assert "".join(pieces) == text_of(whole.content)
    assert len(pieces) > 15
    assert slept == [0.5] * len(pieces)


async def test_usage_is_a_real_count(offline: OfflineProvider) -> None:
    """As the engine counts them, blocks with their frames, and tools too."""
    counter = condense.PromptCounter()
    asked = request("The gate code is 4711.", system="Be kind.")
    whole = await reply(offline, asked)
    expected = counter.count("Be kind.") + counter.count(asked.messages[0].content)
    assert whole.usage.input == expected == await offline.count_tokens(asked)
    assert whole.usage.output == counter.count(whole.content)
    counts = [await offline.count_tokens(request("Hi", tools=tools)) for tools in ((), TOOLS)]
    assert (counts[1] or 0) > (counts[0] or 0) + 20


async def test_the_window_is_enforced() -> None:
    """A long prompt is refused in a real provider's words; a long reply is cut."""
    offline = OfflineProvider(Model("offline", 100, 50), delay=0)
    with pytest.raises(ContextOverflow, match=r"prompt is too long: \d+ tokens > 100 maximum"):
        await listen(offline, request("word " * 200))
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
        argument = uses[0].input.get("path", "")
        text = answers.get(argument, "There is no such file.")
        history.append(user(result(text, uses[0].id, is_error=argument not in answers)))


FILES = {
    "": "README.md\nsrc/\nsrc/app.py  (12 lines)",
    "README.md": "# Demo\n\nA small project.",
    "src/app.py": "print('hi')",
}


async def test_the_examples_of_the_first_page_are_understood_in_every_language(
    offline: OfflineProvider,
) -> None:
    """And answered in it, with its numbers and plurals, also once something else is asked."""
    for language in NAMES:
        with Reader.of(language, "").reading():
            read_all, listing, _decide = map(str, EXAMPLES.values())
            about, files = str(ABOUT), _("{count:,} file", "{count:,} files", count=2)
            told = _("I read {files}. In one sentence each:", files=files)
        calls, text = await run_tools(offline, read_all, FILES)
        assert [name for name, _given in calls] == ["list_files", "read_file", "read_file"]
        assert text.splitlines()[0] == told
        calls, text = await run_tools(offline, listing, FILES)
        assert calls == [("list_files", {})]
        assert (text.splitlines()[0] == "`list_files` returned 3 lines. It begins:") == (
            language == "en"
        )
        assert (await answer(offline, listing, assistant("…"), "Hm.")).startswith(about)
        filler = await answer(offline, listing, assistant("…"), "write 300 words")
        assert len(filler.split()) == 300


async def test_tools_are_used_when_asked_for(offline: OfflineProvider) -> None:
    """One call per step; the answer quotes and counts what the tools said."""
    for question, calls, words in (
        ("List the files.", [("list_files", {})], "`list_files` returned 3 lines"),
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
            "I read 2 files. In one sentence each:\n\n- `README.md`: Demo: A small project.",
        ),
        (
            "read nothing.txt",
            [("read_file", {"path": "nothing.txt"})],
            "nothing.txt failed: There is",
        ),
    ):
        made, text = await run_tools(offline, question, FILES)
        assert made == calls
        assert words in text


async def test_numbered_lines_stay_below_each_other_and_only_offered_tools_are_called(
    offline: OfflineProvider,
) -> None:
    """The first is as far in as the others; tools that are not offered are not called."""
    lines = "     1\tone\n     2\ttwo"
    _made, text = await run_tools(offline, "read README.md", {"README.md": f"{lines}\n"})
    assert f"```text\n{lines}\n```" in text
    whole = await reply(offline, request("read README.md"))
    assert whole.stop_reason == "end_turn"


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


async def test_a_task_goes_on_after_a_condensation(offline: OfflineProvider) -> None:
    """The request is repeated after the summary: files that this names are not read again."""
    recap = user(
        "## Conversation Summary\n5. Results:\n   - README.md (read_file): # Demo",
        "## Newest Request, Verbatim\nread all files",
        "<environment_details>\nfiles\n</environment_details>",
    )
    read = (assistant(call("read_file", "kept", path="b.md")), user(result("# B", "kept")))
    listed = (*read, assistant(call("list_files")), user(result("README.md\nb.md\nsrc/app.py")))
    step = await reply(offline, request(recap, tools=TOOLS))
    assert step.content[-1].name == "list_files"
    step = await reply(offline, request(recap, *listed, tools=TOOLS))
    assert step.content[-1].input == {"path": "src/app.py"}
    last = (assistant(call("read_file", "last", path="src/app.py")), user(result("pass", "last")))
    text = text_of((await reply(offline, request(recap, *listed, *last, tools=TOOLS))).content)
    assert text.startswith("I read 3 files.")
    assert "- `README.md`: # Demo\n- `b.md`: B\n- `src/app.py`: pass\n" in text


def test_a_file_is_named_by_its_heading_and_what_it_says_first() -> None:
    """The first paragraph, whatever a reading tool puts before each line."""
    for text, said in (
        ("# Maps\n\n- [x](y)\n\nA map is flat. It lies.\n", "Maps: A map is flat."),
        ("     1\t# Maps\n     2\t\n     3\tA map is flat. It lies.", "Maps: A map is flat."),
        ("# Nothing", "Nothing"),
    ):
        assert gist(text) == said
    assert clip("one two three", 9) == "one two …"
    assert clip("one two", 7) == "one two"
