"""Markdown to safe HTML: one way for the live view, the history and the export."""

from chatapp.rendering.parsing import render_markdown
from chatapp.rendering.streaming import MarkdownStream

__all__ = ["MarkdownStream", "render_markdown"]
