"""The provider."""

from collections.abc import Iterator

import pytest

from tests.standin.server import Standin


@pytest.fixture
def standin(transactional_db: None, anthropic_standin: Standin) -> Iterator[Standin]:
    """The provider, whose requests are all in order."""
    yield anthropic_standin
    assert not anthropic_standin.problems
