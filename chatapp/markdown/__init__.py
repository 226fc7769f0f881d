"""Markdown to safe HTML: one way for the live view, the history and the export."""

from chatapp.markdown.safe_html import NAME, render_markdown
from chatapp.markdown.stream import MarkdownStream

__all__ = ["NAME", "MarkdownStream", "render_markdown"]
