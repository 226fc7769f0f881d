"""Condense a conversation's context without losing a word of it.

Messages are tagged, never deleted; the effective history is derived. Start with :class:`Condenser`,
or look at :func:`effective_history`.
"""

from lazy_loader import attach_stub

# A module is loaded when one of its names is first used; __init__.pyi says which has which.
__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
