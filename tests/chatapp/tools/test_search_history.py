"""The history is searched with the words and days that the model names."""

from collections.abc import Sequence
from datetime import date

import pytest

from chatapp.agent.errors import ToolError
from chatapp.tools.search_history import ALWAYS, Arguments, Days, FoundMessage, HiddenMessages, run


class AskedHistory(HiddenMessages):
    """A history that keeps what it was asked, and has one message."""

    asked: Days

    async def search(self, words: str, limit: int, days: Days) -> Sequence[FoundMessage]:
        """Return the message, if its words are asked for."""
        self.asked = days
        return [FoundMessage(7, "the user", "Blue.", date(2026, 5, 3))][: words == "colour"]

    async def read(self, seq: int) -> str | None:
        """Return nothing: no message is read."""


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        ("", "", ALWAYS),
        ("2026-05-03", "", Days(first=date(2026, 5, 3))),
        ("", "2026-05-04", Days(last=date(2026, 5, 4))),
        ("2026-05-03", "2026-05-04", Days(date(2026, 5, 3), date(2026, 5, 4))),
    ],
)
async def test_each_end_of_the_days_may_be_left_open(since: str, until: str, days: Days) -> None:
    """The answer names the day of each message."""
    history = AskedHistory()
    told = await run(history, Arguments("colour", since, until))
    assert history.asked == days
    assert told == "Message 7 (the user, Sun 3 May 2026):\nBlue."


async def test_what_is_no_day_or_too_long_is_refused() -> None:
    """With the form of a day; what is not found is no error."""
    with pytest.raises(ToolError, match="2026-05-03"):
        await run(AskedHistory(), Arguments("colour", "yesterday"))
    with pytest.raises(ToolError, match="'since' must not be after 'until'"):
        await run(AskedHistory(), Arguments("colour", "2026-05-04", "2026-05-03"))
    with pytest.raises(ToolError, match="500"):
        await run(AskedHistory(), Arguments("c" * 501))
    assert "other" in await run(AskedHistory(), Arguments("taste"))
