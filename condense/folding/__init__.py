"""Source files as signatures: functions, classes, methods and types with their rows, no bodies.

What a conversation read is shown again in a few lines each, so that the model knows where to look.
Parsing takes place in a process of its own; importing this package loads no grammar.
"""

from condense.folding.folded import Folded, Skipped, SkipReason
from condense.folding.folding import fold_files
from condense.folding.languages import LANGUAGES
from condense.folding.reads import files_read, paths_read
from condense.folding.sections import LIMIT
from condense.folding.signatures import definitions

__all__ = [
    "LANGUAGES",
    "LIMIT",
    "Folded",
    "SkipReason",
    "Skipped",
    "definitions",
    "files_read",
    "fold_files",
    "paths_read",
]
