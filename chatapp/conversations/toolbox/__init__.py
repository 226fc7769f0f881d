"""The tools that a turn offers its model."""
