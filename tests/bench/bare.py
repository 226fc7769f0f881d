"""The floor under streaming: the vendor's SDK alone reads the same streams.

Prints the processor milliseconds that 1,000 words took.
"""

import asyncio
import sys
import time

import anthropic


async def read(client: anthropic.AsyncAnthropic, text: str) -> int:
    """Read one stream, and return its number of words."""
    words = 0
    stream = await client.messages.create(
        model="stand-in",
        max_tokens=8_000,
        stream=True,
        messages=[{"role": "user", "content": text}],
    )
    async for event in stream:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            words += bool(event.delta.text)
    return words


async def main(url: str, sessions: str, text: str) -> None:
    """Read some streams at once."""
    client = anthropic.AsyncAnthropic(base_url=url, api_key="x")
    await read(client, "SAY 12")
    before = time.process_time()
    words = await asyncio.gather(*(read(client, text) for _ in range(int(sessions))))
    print(1e6 * (time.process_time() - before) / sum(words))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
