"""What is compared: strategies by their names, and the default as an application ships it."""

from condense.errors import CondenseError
from condense.evaluation.replay import Contender
from condense.strategies import built_in_strategies, load_strategy

DEFAULT = "default"
# One is not enough alone, the other needs a provider that recordings have not.
LEFT_OUT = ("clear", "provider")


def contender(name: str) -> Contender:
    """Return the strategy of that name, alone; ``default`` is a summary with all that goes with it.

    Raises CondenseError where there is no such strategy.
    """
    if name == DEFAULT:
        return Contender(DEFAULT, load_strategy("fresh_start"), complete=True)
    try:
        return Contender(name, load_strategy(name))
    except (LookupError, ImportError, AttributeError) as error:
        raise CondenseError(f"There is no strategy {name!r}: {error}") from error


def all_contenders() -> tuple[str, ...]:
    """Return the default and every built-in strategy that needs no other and no provider."""
    names = [strategy.name for strategy in built_in_strategies() if strategy.name not in LEFT_OUT]
    return (DEFAULT, *names)
