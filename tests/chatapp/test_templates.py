from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.template import engines
from django.template.loader import get_template

from chatapp.live.context_bar import Segment
from chatapp.templatetags import figures, records
from chatapp.templatetags.page import icon

AMOUNTS = [
    ("0", "$0"),
    ("0.004", "$0.004"),
    ("0.0123", "$0.0123"),
    ("0.00001234", "$0.0000123"),
    ("0.5", "$0.50"),
    ("0.9996", "$1.00"),
    ("12.346", "$12.35"),
    ("1234.5", "$1,234.50"),
]
SPANS = [
    (0, "0.0 s"),
    (0.03, "< 0.1 s"),
    (8.42, "8.4 s"),
    (59.97, "1 min 0 s"),
    (72, "1 min 12 s"),
    (timedelta(hours=2, minutes=5), "2 h 5 min"),
]


@pytest.mark.parametrize(("amount", "shown"), AMOUNTS)
def test_costs_keep_their_significant_digits(amount: str, shown: str) -> None:
    """$0.004 is never $0.00."""
    assert figures.usd(Decimal(amount)) == shown


@pytest.mark.parametrize(("span", "shown"), SPANS)
def test_time_spans_are_shown_in_their_largest_units(span: float, shown: str) -> None:
    """Nobody has to divide by sixty."""
    assert figures.duration(span) == shown


def test_estimated_tokens_are_marked() -> None:
    """What was not measured has ≈ before it."""
    assert figures.tokens(171808) == "171,808"
    assert figures.tokens(171808, False) == "≈ 171,808"


def test_what_is_not_known_is_a_dash() -> None:
    """An empty cell would look like a mistake."""
    dash = figures.NOTHING
    assert figures.tokens(None) == figures.usd(None) == figures.duration(None) == dash
    assert figures.percent(None) == figures.moment(None) == dash


def test_a_small_share_is_not_rounded_to_nothing() -> None:
    """A context that holds something is never 0 % full."""
    assert figures.percent(0.3) == "< 1 %"
    assert figures.percent(0) == "0 %"
    assert figures.percent(89.9) == "89 %"


def test_sizes_are_counted_in_characters() -> None:
    """Long texts are rounded to a tenth of a thousand."""
    assert figures.size(1) == "1 character"
    assert figures.size(999) == "999 characters"
    assert figures.size(12_400) == "12.4 k characters"


def test_segments_lie_end_to_end() -> None:
    """Each begins where the one before it ends."""
    segments = [Segment("system", "System", 10, 1.0), Segment("tools", "Tools", 20, 2.5)]
    assert figures.end_to_end(segments) == [(0, segments[0]), (1.0, segments[1])]


def test_a_moment_carries_its_zone() -> None:
    """The page's script needs an unambiguous time."""
    html = figures.moment(datetime(2026, 11, 21, 8, 30, tzinfo=UTC), "time")
    assert 'datetime="2026-11-21T08:30:00+00:00"' in html
    assert "2026-11-21 08:30 UTC" in html


def test_an_icon_is_hidden_from_screen_readers() -> None:
    """Its meaning is in the words beside it."""
    assert 'aria-hidden="true"' in icon("fold")


def test_an_excerpt_says_what_a_message_holds() -> None:
    """Text, tool calls and results alike."""
    blocks = [{"type": "text", "text": "Read\nit."}, {"type": "tool_use", "name": "read_file"}]
    assert records.excerpt(blocks) == "Read it. · read_file"
    assert records.excerpt([{"type": "tool_result", "content": "found"}]) == "found"
    assert records.excerpt("a" * 200) == "a" * 119 + "…"


@pytest.mark.parametrize("name", ["403.html", "403_csrf.html", "404.html", "500.html"])
def test_error_pages_need_no_context(name: str) -> None:
    """They are shown when everything else failed."""
    assert "Palimpsest" in get_template(name).render({})


def test_no_template_needs_inline_script_or_style() -> None:
    """The content security policy would not run it."""
    folder = engines["django"].dirs[0]
    for file in folder.rglob("*.html"):
        html = file.read_text("utf-8")
        assert " style=" not in html, file
        assert " onclick=" not in html, file
        assert "<style" not in html, file
        assert "<script>" not in html, file
