"""The built-in model: a small program without a language model, a network or a key.

``provider``  the port; ``answer``  what it says, and the tools it calls
``summary``   a condensation's nine sections, filled by rule
"""
