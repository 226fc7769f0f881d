"""Programs with the vendors' SDKs work through the gateway as without it, and are recorded."""

from chatapp.models import Conversation, ModelCall
from tests.chatapp.gateway.programs import claude, talks
from tests.standin.server import Standin


async def test_a_conversation_over_the_messages_api_is_on_record(
    standin: Standin, claude_token: str
) -> None:
    """Streamed or not, each request continues the conversation with what is new in it."""
    client = claude(claude_token)
    standin.reply("I am fine.")
    standin.reply("Nothing else.", thinking="Hm.")
    history = [{"role": "user", "content": "How are you?"}]
    asked = {"model": "claude-opus-5", "max_tokens": 200}
    first = await client.messages.create(messages=history, **asked)
    history += [{"role": "assistant", "content": first.content}]
    history += [{"role": "user", "content": [{"type": "text", "text": "What else?"}]}]
    async with client.messages.stream(messages=history, **asked) as stream:
        second = await stream.get_final_message()

    assert second.content[-1].text == "Nothing else."
    said = ["How are you?", "I am fine.", "What else?", "Nothing else."]
    assert [[text for _role, text in one] for one in await talks()] == [said]
    calls = [one async for one in ModelCall.objects.order_by("pk")]
    assert [one.status for one in calls] == ["succeeded", "succeeded"]
    assert all(one.cost and one.usage_measured for one in calls)
    assert (await Conversation.objects.aget()).title == "How are you?"
