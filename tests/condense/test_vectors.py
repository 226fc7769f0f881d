"""Recorded cases in which the engine answers otherwise than Roo, on purpose."""

from tests.condense.roo import OTHERWISE, cases, recorded


def test_each_answer_of_our_own_is_one_to_a_recorded_case_and_differs() -> None:
    """With its reason as a sentence."""
    for name, told in OTHERWISE.items():
        known = {case["name"]: case["output"] for case in recorded(name)}
        changed = {case["name"] for case in cases(name) if case["output"] != known[case["name"]]}
        assert changed == {case for answers in told.values() for case in answers}
        assert all(reason.endswith(".") for reason in told)
