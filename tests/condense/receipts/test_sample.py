"""Two conversations and their summaries, read by a person: what is kept, named, and missing."""

from condense.messages import Message
from condense.receipts.receipt import receipt
from tests.condense.sessions import Session

AGENT = (
    Session()
    .says(
        "The importer drops rows since build 4711. Fix `read_rows` in importer/csv_rows.py, "
        "it must stay under 250 ms.\nNever change the public API! Also don't add dependencies."
    )
    .reads("/app/importer/csv_rows.py")
    .reads("/app/importer/dates.py")
    .reads("/app/exporter/csv_rows.py")
    .edits("/app/importer/csv_rows.py")
    .runs("cd /app && make check 2>&1 | tail -5", "error: 2 tests failed", error=True)
    .edits("/app/tests/test_csv_rows.py")
    .runs("make bench-importer", "fatal: no such table: rides", error=True)
    .replies("It was the decimal comma: 38 % of the rows had one. `read_rows` takes 84 ms now.")
    .says("Good. Use heliotrope-42 for the bench, port 8443. Only commit when I say so.")
    .replies("The bench is queued as BN-2207.")
)
AGENT_SUMMARY = """
The user wants the importer fixed: it drops rows since build 4711, and must stay under 250 ms.
- “Never change the public API!”, and no new dependencies are to be added; commit only on request.
- Changed importer/csv_rows.py (read_rows) and its test test_csv_rows.py.
- `make check` showed two failing tests. 38% of the rows had a decimal comma.
- Not on heliotrope-42.
"""
AGENT_FACTS = {
    "/app/importer/csv_rows.py": "named",
    "/app/tests/test_csv_rows.py": "named",
    "/app/importer/dates.py": "missing",
    "/app/exporter/csv_rows.py": "missing",
    "cd /app && make check 2>&1 | tail -5": "named",
    "make bench-importer": "missing",
    "fatal: no such table: rides": "missing",
    "Never change the public API!": "kept",
    "Also don't add dependencies.": "named",
    "Fix `read_rows` in importer/csv_rows.py, it must stay under 250 ms.": "named",
    "38 %: It was the decimal comma: 38 % of the rows had one. `read_rows` takes": "named",
    "84 ms: of the rows had one. `read_rows` takes 84 ms now.": "missing",
    "Only commit when I say so.": "named",
    "read_rows": "named",
    "heliotrope-42": "named",
    "8443": "missing",
    "BN-2207: The bench is queued as BN-2207.": "missing",
}

CHAT = (
    Session()
    .says("Order 77310: the vacuum blinks 3 times. Please never call before 19:00!")
    .replies("I booked a pick-up: PU-88213, on 20 May. The repair costs £31.40.")
    .says("Kein Kurier ohne Voranmeldung. Ich wohne in Wohnung 805.")
    .replies("Notiert. Die Reparatur dauert 12 Tage.")
    .says("发票必须写公司名\uff0c不能写个人。编号是C-9001。")
    .replies("好的\uff0c周五之前寄出\uff0c运费15元。")
)
CHAT_SUMMARY = """
Pick-up booked, number PU-88213; repair £31.40. Calls: "Please never call before 19:00".
Wohnung 805, Reparatur dauert 12 Tage.
发票必须写公司名\uff0c不能写个人。
"""
CHAT_FACTS = {
    "77310": "missing",
    "Please never call before 19:00!": "kept",
    "PU-88213: I booked a pick-up: PU-88213, on 20 May. The repair costs £31.40.": "named",
    "20 May: I booked a pick-up: PU-88213, on 20 May. The repair costs £31.40.": "missing",
    "Kein Kurier ohne Voranmeldung.": "missing",
    "805": "named",
    "12 Tage: Notiert. Die Reparatur dauert 12 Tage.": "named",
    "发票必须写公司名\uff0c不能写个人。": "kept",
    "C-9001": "missing",
    "15元: 好的\uff0c周五之前寄出\uff0c运费15元。": "missing",
}


def found(session: Session, summary: str) -> dict[str, str]:
    """Return what the receipt says of each fact of a session."""
    kept = [Message("user", summary)]
    findings = receipt(session.messages, kept, searchable=False).findings
    return {finding.probe.text: finding.state for finding in findings}


def test_the_receipt_of_an_agents_session_says_what_a_reader_would() -> None:
    """Nothing is called kept or missing that is not."""
    states = found(AGENT, AGENT_SUMMARY)
    assert {text: states.get(text) for text in AGENT_FACTS} == AGENT_FACTS


def test_the_receipt_of_a_chat_says_what_a_reader_would() -> None:
    """In any of its languages."""
    states = found(CHAT, CHAT_SUMMARY)
    assert {text: states.get(text) for text in CHAT_FACTS} == CHAT_FACTS
