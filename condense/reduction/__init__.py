"""Reductions: what strategies are made of, what stands for a part, and what is carried over."""
