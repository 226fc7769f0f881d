"""Fixtures for the engine's tests."""

import pytest


@pytest.fixture(autouse=True)
def isolation() -> None:
    """Make no folders: the engine knows neither settings nor a data folder, in a thousand tests."""
