"""The colours of code, as the stylesheet gives them."""

import re
from pathlib import Path

import pytest
from pygments.token import STANDARD_TYPES

CSS = Path(__file__).parents[3] / "static" / "css"
CODE = (CSS / "code.css").read_text()
VARIABLES = (CSS / "variables.css").read_text()

COLOURS = re.findall(r"(--code-\w+): light-dark\((#\w{6}), (#\w{6})\)", CODE)


def luminance(colour: str) -> float:
    """Return the relative luminance as WCAG defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def backgrounds() -> tuple[str, str]:
    """Return what code lies on, in the light and in the dark theme."""
    found = re.findall(r"--sunken: (#\w{6});", VARIABLES)
    return found[0], found[-1]


@pytest.mark.parametrize(("name", "light", "dark"), COLOURS)
def test_a_colour_is_readable_in_both_themes(name: str, light: str, dark: str) -> None:
    """Text needs 4.5:1 against what it lies on."""
    on_light, on_dark = backgrounds()
    assert contrast(light, on_light) >= 4.5, name
    assert contrast(dark, on_dark) >= 4.5, name


def test_there_are_colours() -> None:
    """The test above reads the stylesheet by its form, which could change."""
    assert len(COLOURS) >= 7


def test_every_class_in_the_stylesheet_is_one_that_pygments_writes() -> None:
    """A misspelt class colours nothing."""
    groups = re.findall(r":is\(([^)]+)\)", CODE)
    classes = {name.strip(" .") for group in groups for name in group.split(",")}
    assert classes <= set(STANDARD_TYPES.values())
