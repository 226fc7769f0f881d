"""``make cluster``: all that a cluster needs on this machine, until Ctrl+C."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from tests.cluster.cluster import Cluster
from tests.cluster.nodes import Node
from tests.cluster.proxy import Proxy
from tests.cluster.services import PartFailed, last_lines

FOLDER = "var/cluster"
# Seconds between two looks at whether all still run.
LOOK = 1.0


def main() -> int:
    """Start everything, say where to go, and return once it is stopped: 0, or 1 where it failed."""
    # Asked to end in either way, it ends the parts in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else FOLDER).absolute()
    try:
        with (
            Cluster(folder, os.environ, durable=True) as cluster,
            contextlib.suppress(KeyboardInterrupt),
        ):
            asyncio.run(serve(cluster, int(os.environ.get("PORT", "0"))))
    except PartFailed as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


async def serve(cluster: Cluster, port: int) -> None:
    """Print the link and the parts, and say when one ends; whoever waits longer interrupts it."""
    proxy = Proxy([web.port for web in cluster.webs])
    await proxy.open(port)
    print(f"http://127.0.0.1:{proxy.port}{cluster.link}", flush=True)
    for node in cluster.nodes:
        place = f"{node.origin}, " if node.port else ""
        print(f"{node.name}: {place}process {node.pid}, {node.log}", flush=True)
    print("`kill PROCESS` ends one in order, `kill -9 PROCESS` at once.", flush=True)
    print(f"All data stay in {cluster.folder}. Ctrl+C stops all of it.", flush=True)
    ended: set[Node] = set()
    while True:
        await asyncio.sleep(LOOK)
        for node in {*cluster.nodes} - ended:
            if not node.is_alive:
                ended.add(node)
                print(f"{node.name} ended; it is not started again.\n{last_lines(node.log)}")


if __name__ == "__main__":
    sys.exit(main())
