"""What every strategy is made of: its shape, what it may work with, and what stands for a part."""

from condense.reducing.base import ByModel, ByRule, Kit, Strategy, asks_model, make_reduction

__all__ = ["ByModel", "ByRule", "Kit", "Strategy", "asks_model", "make_reduction"]
