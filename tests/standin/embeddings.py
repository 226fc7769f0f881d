"""A stand-in for a server of embeddings: texts about one topic are near, in whatever words."""

import json
import random
import re
import threading
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

# Words by the topic that they are about; a word of none is about itself.
TOPICS = (
    "dog hound puppy pet walk leash собака",
    "boiler heating warm radiator cold",
    "flight airport plane travel lisbon",
    "salary money pay earn wage",
)
DIMENSIONS = 256


def embed(text: str) -> list[float]:
    """Return a vector of what a text is about."""
    total = [0.0] * DIMENSIONS
    for word in re.findall(r"\w+", text.lower()):
        topic = next((words for words in TOPICS if word in words.split()), None)
        weight = 0.2 if topic is None else 3
        total = [one + weight * own for one, own in zip(total, about(topic or word), strict=True)]
    return total


@cache
def about(topic: str) -> list[float]:
    """Return the vector of a topic, far from all others."""
    dice = random.Random(topic)  # noqa: S311 - the same each time
    return [dice.gauss(0, 1) for _dimension in range(DIMENSIONS)]


class Embeddings:
    """The server; use it as a context manager. ``texts`` are all that it was asked for.

    It answers 500 to requests whose text has a word of ``refused``. ``meanwhile`` is called before
    each answer.
    """

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.refused: tuple[str, ...] = ()
        self.meanwhile: Callable[[], object] = lambda: None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_why: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Return the status and the body of an answer."""
        texts = body["input"]
        self.meanwhile()
        if any(word in text for word in self.refused for text in texts):
            return 500, {"error": "no"}
        self.texts += texts
        data = [{"index": at, "embedding": embed(one)} for at, one in enumerate(texts)]
        return 200, {"data": data, "usage": {"prompt_tokens": 10 * len(texts)}}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                assert self.path == "/v1/embeddings"
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, answer = outer.answer(body)
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, *_words: object) -> None:
                """Say nothing."""

        return Handler
