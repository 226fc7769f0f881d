"""A truncation keeps the facts of what it hides, and the newest request while it is worked on."""

import condense
from tests.condense.dialogues import call, chat, result, texts, truncate, user


async def test_the_marker_carries_the_facts_and_directives_of_what_it_hides() -> None:
    """History, and no request; directives too, but not those that the model still reads."""
    steps = [m for n in range(6) for m in (call(f"t{n}", f"src/a{n}.py"), result(f"t{n}"))]
    made = await truncate([user("Fix it"), *steps, *chat(2)])
    assert texts(made.message)[1] == condense.load_prompt("summary_preface")
    # A second marker hides the one that held them.
    again = await truncate([user("Fix it"), made.message, *chat(9)])
    for marker in (made.message, again.message):
        facts = condense.parse_ledger(texts(marker)[2])
        assert "src/a0.py" in str(facts.files)
    hidden, seen = (f'<command name="{name}">Tag it.</command>' for name in "ab")
    made = await truncate([user("Hello"), user(hidden), *chat(29)[1:], user(seen)])
    assert condense.command_blocks([made.message]) == (hidden,)


async def test_the_newest_request_is_carried_while_it_is_worked_on() -> None:
    """Without the ledger, which holds it otherwise."""
    long = result(text="word " * 790)
    made = await truncate([*chat(4, words=400), user("Now mend it"), call(), long], window=1_050)
    assert made.hidden == ("m1", "m2", "m3", "m4", "m5")
    assert texts(made.message)[1] == "## Newest Request, Verbatim\nNow mend it"
    rest = [call(), result(), call("t2"), long]
    again = await truncate([user("Hi"), made.message, *rest], window=1_050)
    assert "m2" in again.hidden
    assert texts(again.message)[-1] == "## Newest Request, Verbatim\nNow mend it"
    asked, answered = user("word " * 4_000), condense.Message("assistant", "word " * 4_000)
    sizes = {"window": 6_000, "trigger": condense.Trigger.FORCED}
    made = await truncate([*chat(2), asked, answered], **sizes)
    assert "m3" in made.hidden
    assert "Newest Request" not in made.message.text


async def test_what_was_not_read_goes_before_words_of_the_newest_request() -> None:
    """And stays where all else can go."""
    asked = user("word " * 200 + "middle " + "word " * 200)
    made = await truncate([*chat(2), asked, call(), result(text="word " * 400)], window=760)
    assert len(made.hidden) == 5
    assert asked.text in made.message.text
    assert "hidden before they were read" in made.message.text
    made = await truncate([*chat(4), user("Go"), call(), result(text="word " * 800)], window=1_000)
    assert made.hidden == ("m1", "m2", "m3", "m4", "m5")
    made = await truncate([*chat(2), user("word " * 900), user("Go on")], window=1_000)
    assert made.hidden == ("m1", "m2", "m3")


async def test_of_a_request_that_fits_nowhere_its_beginning_and_end_stay() -> None:
    """So that it can be told from others, and searched for."""
    asked = user("begin " + "word " * 900 + "end")
    made = await truncate([asked, call(), result(text="word " * 400)], window=300)
    assert made.tokens_after.value <= 300 - 100
    assert "Newest Request, Verbatim\nbegin word" in made.message.text
    assert made.message.text.endswith("word end")
    assert "characters left out here" in made.message.text
