"""Numbers as the reader's locale writes them."""

from decimal import Decimal

from django.utils.formats import number_format


def number(value: float | Decimal, decimals: int = 0) -> str:
    """Return the number rounded, with separated thousands."""
    # Django's own formatting cuts digits off instead of rounding.
    rounded = Decimal(f"{value:.{decimals}f}")
    return str(number_format(rounded, decimals, use_l10n=True, force_grouping=True))
