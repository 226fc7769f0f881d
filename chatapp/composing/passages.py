"""What somebody selected on the page, found again in the text that it was made from."""

from collections.abc import Iterable


def find_passage(texts: Iterable[str], selected: str) -> str:
    """Return the passage of a text that was selected, "" where there is none.

    The page shows Markdown without its marks, so only letters and digits have to be the same; what
    is returned is the text as it was written.
    """
    selected = selected.strip()
    for text in texts:
        if found := selected if selected in text else _find(text, selected):
            return found
    return ""


def _find(text: str, selected: str) -> str:
    places = [place for place, sign in enumerate(text) if sign.isalnum()]
    wanted = "".join(filter(str.isalnum, selected))
    at = "".join(text[place] for place in places).find(wanted) if wanted else -1
    if at < 0:
        return ""
    begin, end = places[at], places[at + len(wanted) - 1] + 1
    return text[begin:end] + _ending(text[end:], selected)


def _ending(after: str, selected: str) -> str:
    """Return the sign behind the last letter where it was selected too: the end of a sentence."""
    return after[:1] if after[:1] == selected[-1:] and not selected[-1:].isalnum() else ""
