"""Say in one sentence what a file is about: its heading, and how it begins."""

import re

from chatapp.providers.offline.recall import clip, sentences

LONGEST = 140

# A reading tool puts a number and a tab before each line.
_NUMBER = re.compile(r"^ *\d+\t", re.MULTILINE)
_ITEM = re.compile(r"^[-*] +(?P<text>[^\n]+(?:\n +[^\n]+)*)", re.MULTILINE)
_HEADING = re.compile(r"#+ +(?P<title>[^\n]+)")


def gist(text: str) -> str:
    """Return a text's first heading and first sentence, or its first words where it has none.

    Of a text of lists only, the first item's first sentence stands for it.
    """
    plain = _NUMBER.sub("", text).strip()
    heading = _HEADING.match(plain)
    prose = next(filter(_is_prose, plain.split("\n\n")), "")
    if not prose and (item := _ITEM.search(plain)):
        prose = item["text"]
    said = [heading["title"].strip()] if heading else []
    said += sentences(" ".join(prose.split()))[:1]
    return clip(": ".join(said) or plain, LONGEST)


def _is_prose(paragraph: str) -> bool:
    """Headings, lists, tables, code and pictures say less than a paragraph does."""
    return paragraph[:1].isalpha() or (paragraph.startswith("`") and paragraph[:3] != "```")
