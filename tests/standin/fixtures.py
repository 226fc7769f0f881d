"""The stand-in as a fixture; import it into a conftest to use it."""

from collections.abc import Iterator

import pytest

from tests.standin.server import Standin


@pytest.fixture
def anthropic_standin() -> Iterator[Standin]:
    """A strict server that speaks Anthropic's API, on a port of its own."""
    with Standin() as standin:
        yield standin
