"""OpenAI's provider, and the servers that speak its API at an address of their own."""

import condense
from chatapp.providers.specs import Preset, ProviderSpec, read_models

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
    endings=("/chat/completions", "/models"),
    format="chatapp.providers.openai.request:ChatFormat",
    models=read_models(__file__),
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
