"""The page's reducer, alone: frames are dropped, doubled, delayed and reordered, none is lost.

The script below plays both ends of a line in the browser, by a random number generator with a seed,
and with clocks of its own. What it shows in the end must be what was sent, each once, in order.
"""

from typing import Any

from playwright.sync_api import Page

from tests.e2e.server import Server

RUNS = 400

SCRIPT = """
async ([address, seeds]) => {
  let timers = new Map(), next = 1;
  globalThis.setTimeout = (work) => (timers.set(next, work), next++);
  globalThis.clearTimeout = (id) => timers.delete(id);
  const { Changes } = await import(address);

  function random(seed) {
    return () => {
      seed = (seed + 0x6d2b79f5) | 0;
      let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }

  function play(seed) {
    const chance = random(seed), faults = chance() * 0.5;
    timers = new Map();
    let epoch = 1, change = 0, sent = 0, log = [], line = [], late = [];
    const shown = [];

    const send = (frame) => {
      if (chance() < faults) {
        const fault = chance();
        if (fault < 0.34) return;
        if (fault < 0.67) line.push(frame);
        else return void late.push(frame);
      }
      line.push(frame);
    };
    const connect = () => {
      line = []; late = [];
      changes.begin();
      const [at, since] = changes.place ? changes.place.split(".").map(Number) : [0, 0];
      if (at === epoch && chance() < 0.7) {
        send({ type: "resumed", epoch: `${epoch}`, upto: change });
        log.slice(since).forEach(send);
      } else send({ type: "snapshot", epoch: `${epoch}`, upto: change, all: sent });
    };
    const changes = new Changes((frame) => {
      if (frame.type === "snapshot") shown.push(["all", frame.all]);
      else if (frame.text) shown.push(["one", frame.text]);
    }, connect);
    const deliver = () => {
      const at = Math.floor(chance() * line.length);
      if (late.length && chance() < 0.3) line.splice(at, 0, late.shift());
      if (line.length) changes.take(line.shift());
    };
    const ring = () => {
      const [id, work] = timers.entries().next().value ?? [];
      if (work) { timers.delete(id); work(); }
    };

    connect();
    for (let step = 0; step < 120; step++) {
      const what = chance();
      if (what < 0.4) {
        const frame = { change: ++change, text: ++sent };
        log.push(frame);
        send(frame);
      } else if (what < 0.85) deliver();
      else if (what < 0.9) ring();
      else if (what < 0.93) connect();
      else if (what < 0.94) { epoch++; change = 0; log = []; connect(); }
      else line.push({ type: "pong", upto: change });
    }
    // Faults end, signs of life go on: whatever was missed is found out.
    for (let round = 0; round < 400; round++) {
      line.push(...late.splice(0));
      while (line.length) changes.take(line.shift());
      ring();
      line.push({ type: "pong", upto: change });
    }
    let known = 0;
    for (const [kind, number] of shown) {
      if (kind === "all" ? number < known : number !== known + 1) return { seed, shown, sent };
      known = number;
    }
    return known === sent ? null : { seed, shown, sent };
  }

  return seeds.map(play).filter(Boolean);
}
"""


def test_whatever_a_line_does_each_frame_is_shown_once_and_in_order(
    page: Page, server: Server
) -> None:
    """As many times as the line breaks, and as often as the server begins anew."""
    # A page without scripts of its own.
    page.goto("/static/js/uuid.js")
    module = f"{server.url}/static/js/changes.js"
    failed: list[dict[str, Any]] = page.evaluate(SCRIPT, [module, [*range(RUNS)]])
    assert failed == []
