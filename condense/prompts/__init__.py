"""The texts that the engine writes to a model, one per file, found by their keys.

An application registers texts of its own, under new keys or in place of these.
"""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib import resources

from condense.registry import Entry, Registry

# The keys of the default instruction: where a ledger stands beside the summary it asks for less.
CONDENSE, BESIDE_LEDGER = "condense", "beside_ledger"
_CARRIED = {CONDENSE: "no_ledger", BESIDE_LEDGER: "ledger_follows"}


@cache
def _read(name: str) -> str:
    return resources.files(__name__).joinpath(f"{name}.md").read_text("utf-8").strip()


def _files() -> Iterator[Entry[str]]:
    for file in resources.files(__name__).iterdir():
        name, _, suffix = file.name.partition(".")
        if suffix == "md":
            yield Entry(name, partial(_read, name))
    for key, carried in _CARRIED.items():
        text = partial(lambda name: _fill(_read("condense"), carried=_read(name)), carried)
        yield Entry(key, text)


_registry: Registry[str] = Registry("prompt", _files)


def load_prompt(key: str) -> str:
    """Return the text of that key; raise LookupError, with the keys that there are."""
    return _registry.get(key)


def register_prompt(key: str, text: str, *, priority: float = 0) -> None:
    """Have a text found by a key, in place of what it stood for."""
    _registry.register(key, text.strip(), priority=priority)


def unregister_prompt(key: str) -> None:
    """Forget what was registered under a key; the engine's own text is there again."""
    _registry.unregister(key)


def _fill(text: str, **values: object) -> str:
    """Put values in place of their names in braces; other braces mean nothing."""
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def summary_system() -> str:
    """Return the system prompt of a summary call: summarise, answer in text, call no tools."""
    return load_prompt("summary_system")


def summary_preface() -> str:
    """Return the words that tell the model what the summary it reads stands for."""
    return load_prompt("summary_preface")


def condense_instruction(
    custom: str = "", focus: str = "", *, key: str = CONDENSE, words: int = 0
) -> str:
    """Return the instruction that ends a summary request.

    ``custom`` replaces the text of the ``key`` unless it is blank; ``focus`` is what this run
    should keep above all; ``words`` is how long the summary may become, 0 where nobody knows.
    """
    parts = [custom.strip() or load_prompt(key)]
    if words and not custom.strip():
        parts.append(_fill(load_prompt("length"), words=f"{words:,}"))
    if focus.strip():
        parts.append(_fill(load_prompt("focus"), focus=focus.strip()))
    return "\n\n".join(parts)


def repair_instruction(instruction: str, lacking: Sequence[str]) -> str:
    """Return the instruction for another try, where an earlier one was ``lacking`` something."""
    if not lacking:
        return instruction
    named = "\n".join([f"- {one}" for one in lacking])
    return f"{instruction}\n\n{_fill(load_prompt('repair'), lacking=named)}"


def framed(key: str, instruction: str, **values: object) -> str:
    """Return an instruction after the text of a ``key``, with ``values`` put into that."""
    return f"{_fill(load_prompt(key), **values)}\n\n{instruction}"


def update_instruction(instruction: str) -> str:
    """Return the instruction for a history that begins with an earlier summary."""
    return framed("update", instruction)
