"""Numbers, money and plurals are written as the reader's locale has them."""

from collections.abc import Iterator
from datetime import UTC
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.utils import translation

from chatapp.project.languages import Reader
from chatapp.project.sentences import (
    first_known,
    forms_of,
    money,
    number,
    percent,
    translate,
    zone_named,
)


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Leave no language behind."""
    with Reader("en", "en_US").reading():
        yield


@pytest.mark.parametrize(
    ("value", "decimals", "locale", "written"),
    [
        (1_234.5, 1, "en_US", "1,234.5"),
        (2, 1, "en_US", "2.0"),
        (-1_234, 0, "en_US", "-1,234"),
        (1_234.56, 1, "de", "1.234,6"),
        (1_234_567, 0, "hi", "12,34,567"),
        (1_234, 0, "fr", "1\u202f234"),
    ],
)
def test_a_number_is_rounded_and_has_its_decimals(
    value: float, decimals: int, locale: str, written: str
) -> None:
    """With thousands apart, as that locale has them; another locale's stay as they were."""
    with Reader("en", locale).reading():
        assert number(value, decimals) == written
    assert number(1_234.5, 1) == "1,234.5"


@pytest.mark.parametrize(
    ("usd", "decimals", "locale", "written"),
    [
        ("0", 2, "en_US", "$0"),
        ("0.004", 2, "en_US", "$0.004"),
        ("0.5", 2, "en_US", "$0.50"),
        ("0.12345", 2, "en_US", "$0.123"),
        ("0.12000", 2, "en_US", "$0.12"),
        ("0.01204", 2, "en_US", "$0.0120"),
        ("0.5", 2, "en_GB", "$0.50"),
        ("0.5", 4, "en_US", "$0.5000"),
        ("1234.5", 2, "en_US", "$1,234.50"),
        ("-0.004", 2, "en_US", "\N{MINUS SIGN}$0.004"),
        ("-0.004", 2, "de", "\N{MINUS SIGN}0,004\xa0$"),
        ("0.004", 2, "ar", "\u200f0.004\u200f\xa0US$\u200e"),
        ("-0.004", 2, "ar", "\u200f\u200e\N{MINUS SIGN}0.004\u200f\xa0US$\u200e"),
        ("1234.5", 2, "de", "1.234,50\xa0$"),
        ("0.004", 2, "de", "0,004\xa0$"),
    ],
)
def test_an_amount_keeps_its_significant_digits(
    usd: str, decimals: int, locale: str, written: str
) -> None:
    """However small, and has as many decimals as are asked for, or none where it is nothing."""
    with Reader("en", locale).reading():
        assert money(Decimal(usd), decimals) == written


@pytest.mark.parametrize(
    ("locale", "written"), [("en_US", "27%"), ("de", "27\xa0%"), ("tr", "%27")]
)
def test_a_percentage_is_written_as_its_locale_does(locale: str, written: str) -> None:
    """By itself and in a sentence, rounded half up."""
    with Reader("en", locale).reading():
        assert (percent(26.5), translate("{share:%}", share=27)) == (written, written)


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", {"one", "other"}),
        ("ja", {"other"}),
        ("ar", {"zero", "one", "two", "few", "many", "other"}),
        ("fr", {"one", "other"}),
        ("pt-br", {"one", "other"}),
    ],
)
def test_a_plural_has_each_form_of_its_language(language: str, forms: set[str]) -> None:
    """By what CLDR calls them, as a browser does."""
    with translation.override(language):
        assert forms_of("%s row", "%s rows").keys() == forms


def test_the_forms_are_those_of_the_sentence() -> None:
    """One is the singular."""
    assert forms_of("%s row", "%s rows") == {"one": "%s row", "other": "%s rows"}


def test_the_first_locale_that_is_known_is_taken() -> None:
    """What is none, or nothing at all, is passed over."""
    assert first_known(["tlh", "", "de_AT", "x-1", "de-AT", "fr"]) == "de_AT"
    assert first_known(["", "tlh"]) == ""


def test_what_is_no_time_zone_is_utc() -> None:
    """Whatever a cookie holds."""
    assert zone_named("Europe/Vienna") == ZoneInfo("Europe/Vienna")
    for name in ("", "Nowhere/At_all", "../x", "/etc/passwd", "a\0b", "x" * 5_000):
        assert zone_named(name) is UTC


def test_a_sentence_is_translated_with_its_values() -> None:
    """Numbers in it are the reader's; without values, it is as it stands."""
    with Reader("xx", "de").reading():
        assert translate("{size:,} of {most:,.1f}", size=1_234, most=2_345) == "1.234 of 2.345,0"
        assert translate("{name!r}: {share:.1f}", name="a", share=0.25) == "'a': 0.2"
        assert translate("{count} row", "{count:,} rows", count=1) == "1 row"
        assert translate("{count} row", "{count:,} rows", count=1_000) == "1.000 rows"
        assert translate("Keep {this} {") == "Keep {this} {"
