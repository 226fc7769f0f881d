"""Settings of clients: the lines that point each of them at the gateway."""

# By the client's name: where the lines go, and what they are with the profile's key. An address
# without a version is for clients of the Messages API.
_LINES = {
    "Claude Code": "export ANTHROPIC_BASE_URL={address}\nexport ANTHROPIC_AUTH_TOKEN={token}",
    "Codex": (
        '# ~/.codex/config.toml\nmodel_provider = "palimpsest"\nmodel = "{model}"\n'
        '[model_providers.palimpsest]\nname = "Palimpsest"\nbase_url = "{address}/v1"\n'
        'env_key = "PALIMPSEST_TOKEN"\nwire_api = "responses"\n'
        "# in the shell\nexport PALIMPSEST_TOKEN={token}"
    ),
    "opencode": (
        '{{"provider": {{"anthropic": {{"options": '
        '{{"baseURL": "{address}/v1", "apiKey": "{token}"}}}}}}}}'
    ),
    "Cline": "Base URL: {address}\nAPI key: {token}",
    "aider": "export OPENAI_API_BASE={address}/v1\nexport OPENAI_API_KEY={token}",
    "Python: anthropic": 'Anthropic(base_url="{address}", api_key="{token}")',
    "Python: openai": 'OpenAI(base_url="{address}/v1", api_key="{token}")',
}
# With the client's own sign-in or key, which it has already.
_OWN_KEY_LINES = {
    "Claude Code": "export ANTHROPIC_BASE_URL={address}",
    "Codex": (
        '# ~/.codex/config.toml\nmodel_provider = "palimpsest"\n'
        '[model_providers.palimpsest]\nname = "Palimpsest"\nbase_url = "{address}/v1"\n'
        'wire_api = "responses"\nrequires_openai_auth = true'
    ),
    "opencode": '{{"provider": {{"anthropic": {{"options": {{"baseURL": "{address}/v1"}}}}}}}}',
    "Cline": "Base URL: {address}",
    "aider": "export OPENAI_API_BASE={address}/v1",
    "Python: anthropic": 'Anthropic(base_url="{address}")',
    "Python: openai": 'OpenAI(base_url="{address}/v1")',
}


def client_settings(
    address: str, token: str, model: str, *, own_key: bool
) -> list[tuple[str, str]]:
    """Return the lines for each client, by its name; a client with its ``own_key`` sends that."""
    if own_key:
        lines, address = _OWN_KEY_LINES, f"{address}/t/{token}"
    else:
        lines = _LINES
    told = {"address": address, "token": token, "model": model or "MODEL"}
    return [(name, line.format(**told)) for name, line in lines.items()]
