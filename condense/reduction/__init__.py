"""The parts of strategies: their shape, what stands for a part, and what is carried over."""

from condense.reduction.strategy import ByModel, ByRule, Kit, Strategy, asks_model, make_reduction

__all__ = ["ByModel", "ByRule", "Kit", "Strategy", "asks_model", "make_reduction"]
