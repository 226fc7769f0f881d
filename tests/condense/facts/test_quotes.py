"""Facts are quotes: words around a figure or a name, and values that a summary changed."""

import tomllib
from pathlib import Path

import pytest

from condense.facts.ledger import Demand, Ledger, render
from condense.facts.quotes import quotes_in
from condense.facts.receipt import receipt
from condense.messages import Message, TextBlock
from tests.condense.sessions import Session, summary


@pytest.mark.parametrize(
    ("text", "quotes"),
    [
        ("Move the billing database (212 GB) to eu-west-1.",
         {"212 GB": "Move the billing database (212 GB) to eu-west-1",
          "eu-west-1": "Move the billing database (212 GB) to eu-west-1"}),
        ("The nightly window is 40 minutes, from 02:10.\nSAY 450",
         {"40 minutes": "The nightly window is 40 minutes",
          "02:10": "The nightly window is 40 minutes, from 02:10"}),
        ("Marta decided on 14 March (OPS-2291).",
         {"14": "Marta decided on 14 March", "OPS-2291": "Marta decided on 14 March (OPS-2291)"}),
        ("Das Fenster ist 40 Minuten lang; ab 02:10 Uhr am Montag.",
         {"40": "Das Fenster ist 40 Minuten lang", "02:10": "ab 02:10 Uhr am Montag"}),
        ("我们的服务在端口8080上运行。", {"8080": "我们的服务在端口8080上运行"}),
        ("الخادم يستخدم المنفذ 8080 دائما.", {"8080": "الخادم يستخدم المنفذ 8080 دائما"}),
        ("हमारा सर्वर पोर्ट 8080 पर है।", {"8080": "हमारा सर्वर पोर्ट 8080 पर है"}),
        ("It costs €4,500. Some 5 % of 80 MB/s is lost.", {"€4,500": "It costs €4,500",
         "5 %": "Some 5 % of 80 MB/s is lost", "80 MB/s": "Some 5 % of 80 MB/s is lost"}),
        ("one two three four five six seven eight host-17 ten eleven twelve thirteen fourteen",
         {"host-17": "five six seven eight host-17 ten eleven twelve thirteen"}),
        ("450\n17 GB\nv1.2.3", {}),
    ],
)  # fmt: skip
def test_a_figure_or_a_name_is_quoted_with_its_words(text: str, quotes: dict[str, str]) -> None:
    """Identifiers are whole, units belong to numbers, and less than three words say nothing."""
    assert {one.figure: one.text for one in quotes_in(text)} == quotes


def test_names_of_tools_and_the_applications_own_words_are_no_facts() -> None:
    """A tool that was called, and what stands beside a message or in the user's name."""
    made = Session().says("Call read_file on the docs of host_17 now.")
    made.calls("read_file", "the file", path="docs/a.md")
    beside = [
        TextBlock(f"The {kind} says port_{at} is 80{at}1 here.", extra)
        for at, (kind, extra) in enumerate(
            [("time", {"beside": {"kind": "environment"}}),
             ("passage", {"beside": {"kind": "recalled"}}),
             ("program", {"user_words": ""}), ("file", {"beside": {"kind": "file", "name": "a"}})]
        )
    ]  # fmt: skip
    found = receipt([*made.messages, Message("user", tuple(beside))], "").findings
    assert [one.needle for one in found if one.kind == "names"] == ["host_17"]
    assert not [one for one in found if one.kind == "constraints"]


def test_a_changed_value_is_told_from_a_lost_one() -> None:
    """With the summary's own words, also where the ledger beside it has the right value."""
    said = [Message("user", "The nightly window is 40 minutes, from 02:10. Then we go on.")]
    wrong = TextBlock("## Summary\nThe nightly window is 30 minutes.")
    ledger = TextBlock(render(Ledger(requests=(Demand(said[0].text),))))
    for kept in ("The nightly window is 30 minutes.", [summary(wrong, ledger)]):
        found = receipt(said, kept)
        (one,) = found.of("changed")
        assert (one.quote, one.needle) == ("The nightly window is 40 minutes", "40 minutes")
        assert one.context == "The nightly window is 30 minutes"
    assert not receipt(said, "The nightly window is about 35 minutes.").of("changed")
    # A message that stays, or the person in another one, said so.
    newer = Message("user", "Make it 30 minutes.")
    for there, kept in (([*said, newer], [summary(wrong)]), (said, [summary(wrong), newer])):
        assert not receipt(there, kept).of("changed")
    put_back = found.with_kept(found.findings.index(one)).findings[found.findings.index(one)]
    assert (put_back.verdict, put_back.quote) == ("kept", one.quote)


def test_most_changed_values_are_found_and_no_others() -> None:
    """Also among those that the rules were not made by."""
    pairs = tomllib.loads(Path(__file__).with_name("values.toml").read_text("utf-8"))
    for half in (0, 1):
        hits, alarms = [
            [
                bool(receipt([Message("user", said)], text).of("changed"))
                for said, text in pairs[kind][half::2]
            ]
            for kind in ("changed", "same")
        ]
        assert sum(hits) >= 0.9 * len(hits)
        assert sum(hits) >= 0.9 * (sum(hits) + sum(alarms))
