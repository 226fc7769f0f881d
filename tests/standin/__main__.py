"""Serve the stand-in by hand: python -m tests.standin --port 9000."""

import argparse

import uvicorn

from tests.standin.server import Standin


def main() -> None:
    """Serve until interrupted; any API key is accepted."""
    parser = argparse.ArgumentParser(prog="python -m tests.standin", description=__doc__)
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--window", type=int, default=200_000, help="context window in tokens")
    arguments = parser.parse_args()
    standin = Standin(window=arguments.window, port=arguments.port)
    print(f"Base URL: {standin.url}")
    uvicorn.run(standin.app, host="127.0.0.1", port=arguments.port, log_level="warning")


if __name__ == "__main__":
    main()
