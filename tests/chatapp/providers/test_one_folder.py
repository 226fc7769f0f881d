"""A provider is a folder: nothing else names it, and adding one changes nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import call_command

from chatapp import providers
from chatapp.accounts import accounts
from chatapp.forms.profiles import ProfileForm, model_defaults, provider_traits
from chatapp.models import Profile
from chatapp.providers import provider_specs

ROOT = Path(__file__).parents[3]
VENDORS = re.compile(
    r"(?i)anthropic|claude|openai|gpt-|gemini|mistral|groq|ollama|llama.?cpp|openrouter|cerebras|vllm|[\"']offline[\"']"
)
# "offline" is also how the page says that it has no connection.
CONNECTION = {"static/js/socket.js", "static/js/connection.js", "chatapp/templatetags/scripts.py"}

ACME = """
from chatapp.providers.specs import ModelSpec, ProviderSpec

SPEC = ProviderSpec(
    name="acme",
    label="Acme AI",
    factory="chatapp.providers.offline.provider:OfflineProvider",
    models=(ModelSpec("acme-1", "Acme One", 9_000, 1_000),),
    profile_name="Acme",
    url="https://api.acme.example",
    key_variable="ACME_KEY",
    tool_prompt_tokens=7,
)
"""


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: LazySettings) -> Iterator[None]:
    """A third folder among the providers."""
    (tmp_path / "acme").mkdir()
    (tmp_path / "acme" / "__init__.py").touch()
    (tmp_path / "acme" / "spec.py").write_text(ACME)
    monkeypatch.setattr(providers, "__path__", [*providers.__path__, str(tmp_path)])
    settings.ACME_KEY = "sk-acme"
    provider_specs.cache_clear()
    yield
    provider_specs.cache_clear()


def sources() -> Iterator[Path]:
    """Yield all that could name a vendor, each provider's own folder aside."""
    own = {ROOT / "chatapp" / "providers" / name for name in provider_specs()}
    # Recorded files are called after the programs that wrote them, whoever is a provider here.
    own |= {ROOT / "chatapp" / "importers", ROOT / "chatapp" / "transfer" / "claude_code_words.py"}
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


@pytest.mark.usefixtures("acme")
def test_a_new_folder_is_all_that_a_new_provider_takes(alice: User) -> None:
    """It can be chosen, its models are known, and its key makes its first profile the default."""
    default = accounts.preferences_of(alice).default_profile
    assert default is not None
    assert (default.name, default.get_provider_display()) == ("Acme", "Acme AI")
    form = ProfileForm(instance=Profile(owner=alice))
    assert ("acme", "Acme AI") in form.fields["provider"].choices
    assert model_defaults()["acme-1"]["fields"]["context_window"] == 9_000
    traits = provider_traits()["acme"]
    assert (traits["needsKey"], traits["url"]) == (True, "https://api.acme.example")
    assert (traits["takes"], traits["servers"]) == ([], [])


@pytest.mark.usefixtures("acme")
def test_a_new_provider_needs_no_migration(db: None) -> None:
    """The choices are not part of the schema."""
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)
