"""What stops the folding of one file."""

from condense.folding.folded import SkipReason


class Unfoldable(Exception):
    """One file cannot be folded; never leaves this package."""

    def __init__(self, reason: SkipReason) -> None:
        """Keep the reason for the record."""
        super().__init__(reason.value)
        self.reason = reason
