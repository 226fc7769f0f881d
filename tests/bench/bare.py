"""The floor under streaming: the vendor's SDK alone reads the same streams.

Prints, as JSON, the processor milliseconds that 1,000 words took, the median of the milliseconds
until the first word, and what all but one in a hundred of the later words were delayed by at most.
"""

import asyncio
import json
import sys
import time
from statistics import median, quantiles

import anthropic


async def read(client: anthropic.AsyncAnthropic, text: str) -> tuple[float, list[float]]:
    """Read one stream, and return the seconds until its first word, and what each took to come."""
    sent, first, delays = time.monotonic(), 0.0, list[float]()
    stream = await client.messages.create(
        model="stand-in",
        max_tokens=8_000,
        stream=True,
        messages=[{"role": "user", "content": text}],
    )
    async for event in stream:
        if event.type == "content_block_delta" and event.delta.type == "text_delta":
            now = time.monotonic()
            first = first or now - sent
            delays.append((now - int(event.delta.text[1:]) / 1e6) % 1_000)
    return first, delays


async def main(url: str, sessions: str, text: str) -> None:
    """Read some streams at once."""
    client = anthropic.AsyncAnthropic(base_url=url, api_key="x")
    await read(client, "SAY 12")
    before = time.process_time()
    told = await asyncio.gather(*(read(client, text) for _ in range(int(sessions))))
    cpu = 1e6 * (time.process_time() - before) / sum(len(delays) for _, delays in told)
    later = [one for _, delays in told for one in delays[len(delays) // 2 :]]
    first, late = median(first for first, _ in told), quantiles(later, n=100)[-1]
    print(json.dumps({"cpu": cpu, "first": 1_000 * first, "late": 1_000 * late}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
