"""The files that the documents have for a deployment."""

from tests.processes import ROOT

DEPLOY = ROOT / "docs" / "deploy"


def variables(text: str) -> dict[str, str]:
    """Return what a file of variables sets, as systemd and a shell read it."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)
