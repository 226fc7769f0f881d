"""The texts that the engine writes to a model, one per file, found by their keys.

An application registers texts of its own, under new keys or in place of these.
"""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from importlib import resources

from condense.registry import Entry, Registry

# The keys of the default instruction: with a ledger after the summary, it asks for less.
CONDENSE, BESIDE_LEDGER = "condense", "beside_ledger"
_CARRIED = {CONDENSE: "no_ledger", BESIDE_LEDGER: "ledger_follows"}


@cache
def _read(key: str) -> str:
    name = CONDENSE if key in _CARRIED else key
    text = resources.files(__name__).joinpath(f"{name}.md").read_text("utf-8").strip()
    return text.replace("{carried}", _read(_CARRIED[key])) if key in _CARRIED else text


def _files() -> Iterator[Entry[str]]:
    names = [file.name for file in resources.files(__name__).iterdir()]
    keys = [name.removesuffix(".md") for name in names if name.endswith(".md")]
    for key in (*keys, BESIDE_LEDGER):
        yield Entry(key, partial(_read, key))


_registry: Registry[str] = Registry("prompt", _files)


def load_prompt(key: str, **values: object) -> str:
    """Return the text of that key, with ``values`` in place of their names in braces.

    Other braces mean nothing. Raises LookupError, with the keys that there are.
    """
    text = _registry.get(key)
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", str(value))
    return text


def register_prompt(key: str, text: str, *, priority: float = 0) -> None:
    """Register a text under a key, in place of the earlier one."""
    _registry.register(key, text.strip(), priority=priority)


def unregister_prompt(key: str) -> None:
    """Remove a registered text; the engine's own text is found under its key again."""
    _registry.unregister(key)


def condense_instruction(
    custom: str = "",
    focus: str = "",
    *,
    key: str = CONDENSE,
    words: int = 0,
    feedback: Sequence[str] = (),
) -> str:
    """Return the instruction that ends a summary request.

    ``custom`` replaces the text of the ``key`` unless it is blank; ``focus`` is to be kept above
    all; ``words`` is the length of the summary, 0 if unknown. ``feedback`` are the user's verdicts
    on earlier summaries.
    """
    parts = [custom.strip() or load_prompt(key)]
    if words and not custom.strip():
        parts.append(load_prompt("length", words=f"{words:,}"))
    if feedback:
        parts.append(load_prompt("feedback", feedback="\n".join([f"- {one}" for one in feedback])))
    if focus.strip():
        parts.append(load_prompt("focus", focus=focus.strip()))
    return "\n\n".join(parts)


def repair_instruction(instruction: str, lacking: Sequence[str]) -> str:
    """Return the instruction for another try, if an earlier one was ``lacking`` something."""
    if not lacking:
        return instruction
    named = "\n".join([f"- {one}" for one in lacking])
    return f"{instruction}\n\n{load_prompt('repair', lacking=named)}"


def framed(key: str, instruction: str, **values: object) -> str:
    """Return an instruction after the text of a ``key``, with ``values`` put into that."""
    return f"{load_prompt(key, **values)}\n\n{instruction}"
