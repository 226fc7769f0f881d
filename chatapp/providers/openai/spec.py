"""OpenAI's models, and the servers that speak its API at an address of their own.

The figures are those that gateways list for OpenAI's models, read on 2026-11-22; a cache write is
billed above the price of input since GPT-6. Prices are USD per million tokens. Other servers have
prices of their own: a profile for them starts without any.
"""

from decimal import Decimal

import condense
from chatapp.providers.specs import ModelSpec, Preset, ProviderSpec

_WINDOW, _MAX_OUTPUT = 1_050_000, 128_000
_LONG = condense.Surcharge(272_000, Decimal(2), Decimal("1.5"), Decimal(2), Decimal(2))

SPEC = ProviderSpec(
    name="openai",
    label=condense.noop("OpenAI-compatible"),
    factory="chatapp.providers.openai.provider:OpenAIProvider",
    profile_name="OpenAI",
    url="https://api.openai.com/v1",
    key_variable="OPENAI_API_KEY",
    url_variable="OPENAI_BASE_URL",
    key_elsewhere=False,
    caches_prompts=True,
    takes_effort=True,
    takes_temperature=True,
    format="chatapp.providers.openai.request:ChatFormat",
    models=(
        ModelSpec(
            "gpt-6.1-sol",
            "GPT-6.1 Sol",
            _WINDOW,
            _MAX_OUTPUT,
            condense.Prices(Decimal(2), Decimal(10), Decimal("0.1"), Decimal("2.5"), _LONG),
        ),
    ),
    presets=(
        Preset("OpenRouter", "https://openrouter.ai/api/v1"),
        Preset("Groq", "https://api.groq.com/openai/v1"),
        Preset("Mistral", "https://api.mistral.ai/v1"),
        Preset("Gemini", "https://generativelanguage.googleapis.com/v1beta/openai"),
        Preset("Cerebras", "https://api.cerebras.ai/v1"),
        Preset("Ollama", "http://localhost:11434/v1", is_local=True),
        Preset("llama.cpp", "http://localhost:8080/v1", is_local=True),
        Preset("vLLM", "http://localhost:8000/v1", is_local=True),
        Preset("LM Studio", "http://localhost:1234/v1", is_local=True),
    ),
)
