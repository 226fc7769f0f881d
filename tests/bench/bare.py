"""The floor under streaming: the vendor's SDK alone reads the same streams.

Prints, as JSON, the processor milliseconds that 1,000 words took, and the median of those until
the first word.
"""

import asyncio
import json
import sys
import time
from statistics import median

import anthropic


async def read(client: anthropic.AsyncAnthropic, text: str) -> tuple[int, float]:
    """Read one stream, and return its number of words, and the seconds until the first."""
    words, sent, first = 0, time.monotonic(), 0.0
    stream = await client.messages.create(
        model="stand-in",
        max_tokens=8_000,
        stream=True,
        messages=[{"role": "user", "content": text}],
    )
    async for event in stream:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            words += bool(event.delta.text)
            first = first or time.monotonic() - sent
    return words, first


async def main(url: str, sessions: str, text: str) -> None:
    """Read some streams at once."""
    client = anthropic.AsyncAnthropic(base_url=url, api_key="x")
    await read(client, "SAY 12")
    before = time.process_time()
    told = await asyncio.gather(*(read(client, text) for _ in range(int(sessions))))
    words, firsts = zip(*told, strict=True)
    cpu = 1e6 * (time.process_time() - before) / sum(words)
    print(json.dumps({"cpu": cpu, "first": 1_000 * median(firsts)}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
