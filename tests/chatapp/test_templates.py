from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import product
from uuid import UUID

import pytest
from django.template import engines
from django.template.loader import get_template

from chatapp.page.live.status_panel import Segment
from chatapp.project.languages import Reader
from chatapp.project.sentences import apportion, number, reader_locale
from chatapp.templatetags import figures, page, records
from chatapp.tools.text_edits import show_difference

NOTHING = figures.NOTHING
SHOWN = {
    figures.usd: {
        Decimal(0): "free", Decimal("0.004"): "$0.004", Decimal("0.0123"): "$0.0123",
        Decimal("0.00001234"): "$0.0000123", Decimal("0.5"): "$0.50", Decimal("0.9996"): "$1.00",
        Decimal("12.346"): "$12.35", Decimal("1234.5"): "$1,234.50", None: NOTHING,
    },
    figures.duration: {
        0: "0 s", 0.03: "< 0.1 s", 8.42: "8.4 s", 59.97: "1 min 0 s", 72: "1 min 12 s",
        timedelta(hours=2, minutes=5): "2 h 5 min", None: NOTHING,
    },
    figures.tokens: {171_808: "171,808", None: NOTHING},
    partial(figures.tokens, measured=False): {171_808: "≈ 171,808"},
    partial(figures.usd, measured=False): {2: "≈ $2.00"},
    figures.usd_in_column: {
        Decimal("0.1"): "$0.1000", Decimal("-12.3"): "\N{MINUS SIGN}$12.3000", None: NOTHING,
        Decimal("0.00001234"): "$0.0000123",
    },
    figures.percent: {0.3: "<1%", 0: "0%", 4.9: "5%", 62.5: "63%"},
    figures.saved: {67.6: "\N{MINUS SIGN}68%", -3.0: "+3%", 0.2: "\N{MINUS SIGN}<1%"},
    figures.dollars: {Decimal(0): "$0", Decimal("0.5"): "$0.50", None: NOTHING},
    partial(figures.dollars, measured=False): {0: "$0", 2: "≈ $2.00"},
    figures.compact: {940: "940", 4_391: "4.4k", 16_000: "16k", 171_808: "172k"},
    figures.size: {1: "1 character", 999: "999 characters", 12_400: "12.4 k characters"},
    figures.stored: {1: "1 byte", 999: "999 bytes", 12_400: "12.4 kB", 3_000_000: "3.0 MB"},
    figures.moment: {None: NOTHING},
    page.browser: {
        "Mozilla/5.0 (X11; Linux x86_64) Chrome/150.0 Safari/537.36": "Chrome on Linux",
        "Mozilla/5.0 (Windows NT 10.0) Chrome/150.0 Safari/537.36 Edg/150.0": "Edge on Windows",
        "Mozilla/5.0 (iPhone; like Mac OS X) Version/19.0 Safari/605.1": "Safari on iPhone",
        "Mozilla/5.0 (Linux; Android 16; rv:150.0) Firefox/150.0": "Firefox on Android",
        "curl/8.14.1": "curl/8.14.1",
    },
}  # fmt: skip


def test_figures_are_shown_as_people_read_them() -> None:
    """Small costs keep their digits, estimates have ≈, and what is not known is a dash."""
    for show, shown in SHOWN.items():
        assert {value: show(value) for value in shown} == shown  # type: ignore[operator]


def test_numbers_are_written_as_the_browsers_first_known_language_has_them() -> None:
    """With separated thousands, also where they are not usual."""
    for accepts, shown in {"tlh, de-AT;q=0.9, en;q=0.8": "1.234,5", "zh-CN": "1,234.5"}.items():
        before = reader_locale.set(Reader.of("", accepts).locale)
        assert number(1_234.5, 1) == shown
        reader_locale.reset(before)


def test_segments_lie_end_to_end() -> None:
    """Each begins where the one before it ends."""
    segments = [Segment("system", "System", 10, 1.0), Segment("tools", "Tools", 20, 2.5)]
    assert figures.end_to_end(segments) == [(0, segments[0]), (1.0, segments[1])]


def test_the_shares_of_parts_add_up_to_the_total() -> None:
    """As rounded; what is left goes to those that lost most by it."""
    sizes = [1.04, 7.07, 4.9, 0.22, 1.75, 3.55, 0.66, 8.18]
    parts = [Segment("part", "Part", 0, one) for one in sizes]
    shown = ["1%", "7%", "5%", "<1%", "2%", "3%", "1%", "8%"]
    assert [share for _part, share in figures.with_shares(parts)] == shown
    assert sum(apportion(sizes)) == round(sum(sizes)) == 27


def test_a_moment_carries_its_zone() -> None:
    """The page's script needs an unambiguous time."""
    html = figures.moment(datetime(2026, 11, 21, 8, 30, tzinfo=UTC), "time")
    assert 'datetime="2026-11-21T08:30:00+00:00"' in html
    assert "2026-11-21 08:30 UTC" in html


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
    # It has a policy of its own.
    sealed = folder / "chat" / "preview.html"
    for file in {*folder.rglob("*.html")} - {sealed}:
        html = file.read_text("utf-8")
        assert " style=" not in html, file
        assert " onclick=" not in html, file
        assert "<style" not in html, file
        assert "<script>" not in html, file


def test_only_icons_that_point_somewhere_turn_with_the_script() -> None:
    """Read from right to left, what leads back points to the right."""
    assert [' directed"' in page.icon(name) for name in ("undo", "settings")] == [True, False]


def test_a_kept_block_is_the_same_as_one_that_is_rendered_each_time() -> None:
    """In each language, for each set of values; it sees no other variables."""
    block = (
        "<b id=\"{{ pk }}\">{{ seq|stringformat:'d' }}{% if on %}{% translate 'Copy' %}{% endif %}"
        "{{ other }}</b>"
    )
    head = "{% load page i18n %}"
    kept = engines["django"].from_string(
        head + "{% kept pk=pk seq=seq on=on %}" + block + "{% endkept %}"
    )
    each = engines["django"].from_string(head + block)
    keys = [UUID(int=0), UUID(int=0xCAFE << 96), UUID("00000000-0000-0000-0000-807060504030")]
    for language, pk, seq, on in product(["en", "de", "en"], keys, [1, 10], [True, False]):
        with Reader(language).reading():
            values = {"pk": pk, "seq": seq, "on": on}
            assert kept.render({**values, "other": "x"}) == each.render(values)


def test_a_changed_line_is_shown_as_one_though_it_begins_like_a_heading() -> None:
    """Comments of SQL do, and lines of a difference."""
    old, new = "-- drop the old rows\nx\n", "++ counter;\nx\n-- /dev/null\n"
    shown = records.difference(show_difference("a.sql", old, new))
    assert [line for kind, line in shown if kind == "file"] == ["--- a.sql", "+++ a.sql"]
    assert [line for kind, line in shown if kind == "removed"] == ["--- drop the old rows"]
    assert [line for kind, line in shown if kind == "added"] == ["+++ counter;", "+-- /dev/null"]
    made = show_difference("new.py", None, "one\ntwo\n")
    assert records.new_lines(made) == 2
    # Two thousand lines of it are shown.
    assert records.new_lines(show_difference("new.py", None, "line\n" * 5_000)) == 5_000
    assert records.new_lines(show_difference("new.py", None, "")) == 0
