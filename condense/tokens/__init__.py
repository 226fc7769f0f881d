"""How many tokens a content takes: each counter in a file of its own."""

from condense.tokens.cached import CachedCounter
from condense.tokens.counting import TokenCount, TokenCounter, count_message, count_messages
from condense.tokens.prompt import PromptCounter, count_media, count_tools
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
