"""Claude's provider, and the habits of its models."""

from chatapp.providers.specs import ProviderSpec, read_models

SPEC = ProviderSpec(
    name="anthropic",
    label="Anthropic",
    factory="chatapp.providers.anthropic.provider:AnthropicProvider",
    profile_name="Claude",
    url="https://api.anthropic.com",
    key_variable="ANTHROPIC_API_KEY",
    url_variable="ANTHROPIC_BASE_URL",
    caches_prompts=True,
    # The API has no temperature any more.
    takes_effort=True,
    # Its pricing page, Claude 4, tool choice "auto".
    tool_prompt_tokens=346,
    endings=("/v1/messages", "/v1"),
    models=read_models(__file__),
)

# These refuse a thinking block once anything before it has changed.
BINDING_THINKING = frozenset(
    {
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-fable-5-2",
        "claude-fable-5-1",
    }
)

# These take a system message behind one of the user's. Of Sonnet 5, what is known disagrees.
LATE_SYSTEM = BINDING_THINKING | {"claude-opus-5"}

# These think as they see fit, between tool calls too; others are given a number of tokens for it.
ADAPTIVE_THINKING = BINDING_THINKING | {"claude-opus-5", "claude-sonnet-5"}
