"""Source files as signatures: functions, classes, methods and types with their rows, no bodies.

A conversation that read files is given a few lines of each, so that the model knows where to look.
Parsing takes place in a process of its own; importing this package loads no grammar.
"""

from condense.folded_files.files_read import files_read, paths_read
from condense.folded_files.results import Folded, FoldedFile, SkipReason
from condense.folded_files.sections import LIMIT, fold_files
from condense.folded_files.signatures import LANGUAGES, read_definitions
from condense.folded_files.workspace import Ignore, ignore_matcher

__all__ = [
    "LANGUAGES",
    "LIMIT",
    "Folded",
    "FoldedFile",
    "Ignore",
    "SkipReason",
    "files_read",
    "fold_files",
    "ignore_matcher",
    "paths_read",
    "read_definitions",
]
