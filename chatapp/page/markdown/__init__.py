"""Markdown to safe HTML: one way for the live view, the history and the export."""

from chatapp.page.markdown.marked_sentences import SENTENCES, fill_sentences
from chatapp.page.markdown.safe_html import NAME, render_markdown
from chatapp.page.markdown.stream import MarkdownStream

__all__ = ["NAME", "SENTENCES", "MarkdownStream", "fill_sentences", "render_markdown"]
