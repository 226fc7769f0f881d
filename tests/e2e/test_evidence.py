"""A test that fails leaves what one would look at, before its tabs are closed."""

from pathlib import Path

from playwright.sync_api import Browser

from tests.e2e import evidence
from tests.e2e.conftest import OpenPage
from tests.e2e.server import Server

SAY = """async () => {
  console.info("so far so good");
  await fetch("/nowhere/");
}"""


def test_each_tab_s_picture_and_log_and_the_server_s_are_kept(
    open_page: OpenPage, browser: Browser, server: Server, tmp_path: Path
) -> None:
    """Also of tabs that are the test's own; a name makes a folder, whatever it has in it."""
    open_page("/settings/")
    open_page("/profiles/", own=True).evaluate(SAY)
    kept = evidence.keep(browser, "tests/a.py::test_b[c/d]", [server.log], tmp_path)
    assert kept == tmp_path / "tests-a-py-test_b-c-d"
    pictures = sorted(path.name for path in kept.glob("*.png"))
    assert pictures == ["tab-1.png", "tab-2.png"]
    first, second = (path.read_text() for path in sorted(kept.glob("tab-*.log")))
    assert first.startswith(f"{server.url}/settings/")
    assert second.startswith(f"{server.url}/profiles/")
    assert "info: so far so good" in second
    assert f"failed: GET {server.url}/nowhere/: 404" in second
    assert (kept / "server-1.log").read_text() == server.log.read_text()
