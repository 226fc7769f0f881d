"""How a summary gets written: in one call that the cache pays for, in one plain call, or in many.

:class:`Writer` chooses; a strategy says what is summarised and with which instruction.
"""

from condense.writing.requests import aligned_request, flatten, flattened_request
from condense.writing.writer import Writer, Written

__all__ = ["Writer", "Written", "aligned_request", "flatten", "flattened_request"]
