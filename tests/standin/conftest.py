"""The stand-in, tested as its users use it."""

from tests.standin.fixtures import anthropic_standin

__all__ = ["anthropic_standin"]
