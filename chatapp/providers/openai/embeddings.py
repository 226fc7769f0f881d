"""Embeddings of a server that speaks OpenAI's API: its own, Ollama, llama.cpp and others."""

from collections.abc import Sequence

import openai

from chatapp.agent.errors import ProviderError
from condense import noop, say

# Seconds for passages, and for a question, whose answer somebody waits for.
PATIENCE, SHORT_PATIENCE = 60.0, 3.0
# What models want before a question and before a passage, by a part of their name.
PREFIXES = {
    "e5": ("query: ", "passage: "),
    "nomic": ("search_query: ", "search_document: "),
}


def embed(
    texts: Sequence[str], *, url: str, key: str, model: str, asks: bool
) -> tuple[list[list[float]], int]:
    """Return a vector for each text, and the tokens that the server counted.

    Raises ProviderError.
    """
    prefixes = next((both for part, both in PREFIXES.items() if part in model.lower()), ("", ""))
    prefix = prefixes[0 if asks else 1]
    try:
        with openai.OpenAI(
            base_url=url,
            api_key=key or "none",
            timeout=SHORT_PATIENCE if asks else PATIENCE,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        ) as client:
            answer = client.embeddings.create(
                model=model, input=[prefix + one for one in texts], encoding_format="float"
            )
        rows = [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]
        used = getattr(answer.usage, "prompt_tokens", 0) or 0
    except (openai.OpenAIError, AttributeError, TypeError, ValueError) as error:
        said = say("The server for embeddings gave no answer: {error}", error=error)
        raise ProviderError(said) from error
    if len(rows) != len(texts) or len({len(one) for one in rows}) != 1 or not rows[0]:
        raise ProviderError(noop("The server for embeddings answered with something else."))
    return rows, used
