"""Tokens: counters of what a content takes, and what they are made of."""

from condense.tokens.counter import (
    CachedCounter,
    TokenCount,
    TokenCounter,
    count_message,
    count_messages,
)
from condense.tokens.prompt_counter import PromptCounter, count_media, count_tools
from condense.tokens.roo import CharacterCounter, TiktokenCounter

__all__ = [
    "CachedCounter",
    "CharacterCounter",
    "PromptCounter",
    "TiktokenCounter",
    "TokenCount",
    "TokenCounter",
    "count_media",
    "count_message",
    "count_messages",
    "count_tools",
]
