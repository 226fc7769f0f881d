"""A provider is a folder: nothing else names it, and adding one changes nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path

from chatapp.providers import provider_specs

ROOT = Path(__file__).parents[3]
VENDORS = re.compile(
    r"(?i)anthropic|claude|openai|gpt-|gemini|mistral|groq|ollama|llama.?cpp|openrouter|cerebras|vllm|[\"']offline[\"']"
)
# "offline" is also how the page says that it has no connection.
CONNECTION = {"static/js/socket.js", "static/js/connection.js"}


def sources() -> Iterator[Path]:
    """Yield all that could name a vendor, each provider's own folder aside."""
    own = {ROOT / "chatapp" / "providers" / name for name in provider_specs()}
    # Files and requests are read by the programs that wrote them, whoever is a provider here.
    own |= {ROOT / "chatapp" / name for name in ("gateway", "records/importers")}
    own |= {ROOT / f"templates/settings/_{name}.html" for name in ("client_lines", "gateway")}
    for folder, pattern in (("chatapp", "*.py"), ("templates", "*.html"), ("static/js", "*.js")):
        for path in (ROOT / folder).rglob(pattern):
            if not own & {path, *path.parents} and "migrations" not in path.parts:
                yield path


def test_no_vendor_is_named_outside_its_folder() -> None:
    """Forms, labels, checks, templates and scripts read the registry."""
    named = {
        f"{path.relative_to(ROOT)}: {found[0]}"
        for path in sources()
        if str(path.relative_to(ROOT)) not in CONNECTION
        and (found := VENDORS.search(path.read_text(encoding="utf-8")))
    }
    assert named == set()
