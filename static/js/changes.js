// Frames in order, each once: what is doubled is dropped, what came too early waits, and what is
// missing is asked for. It knows neither the page nor the socket.

// Milliseconds in which a frame that was overtaken may still come.
const PATIENCE = 1000;

export class Changes {
  #show;
  #miss;
  #epoch = "";
  #last = 0;
  // Whether this line has said where it begins.
  #settled = false;
  #early = new Map();
  #timer = 0;

  /** `show` gets each frame; `miss` is called when one does not come. */
  constructor(show, miss) {
    this.#show = show;
    this.#miss = miss;
  }

  /** How far this page is, for the server; "" before it has anything. */
  get place() {
    return this.#epoch && `${this.#epoch}.${this.#last}`;
  }

  /** A new line: what the old one brought too early is gone, and nothing is shown before its word. */
  begin() {
    this.#early.clear();
    this.#settled = false;
    this.#rest();
  }

  take(frame) {
    if (frame.type === "snapshot") this.#arrive(frame);
    else if (frame.type === "resumed") this.#settle(frame);
    else if (frame.type === "pong") this.#expect(frame.upto);
    else if (frame.change === undefined) this.#show(frame);
    else this.#queue(frame);
  }

  #arrive(frame) {
    const known = frame.epoch === this.#epoch;
    // What is shown is newer, or this came twice.
    if (known && (frame.upto < this.#last || (this.#settled && frame.upto === this.#last))) return;
    this.#epoch = frame.epoch;
    this.#last = frame.upto;
    this.#settle(frame);
  }

  #settle(frame) {
    this.#settled = true;
    for (const change of this.#early.keys()) if (change <= this.#last) this.#early.delete(change);
    this.#show(frame);
    this.#drain();
  }

  #queue(frame) {
    if (this.#settled && frame.change <= this.#last) return;
    this.#early.set(frame.change, frame);
    this.#drain();
  }

  #drain() {
    while (this.#settled && this.#early.has(this.#last + 1)) {
      this.#last += 1;
      const frame = this.#early.get(this.#last);
      this.#early.delete(this.#last);
      this.#show(frame);
    }
    if (this.#early.size) this.#wait();
    else this.#rest();
  }

  /** The server has sent so much; whatever of it is under way will be here soon. */
  #expect(change) {
    if (!this.#settled || change > this.#last) this.#wait();
  }

  #wait() {
    const had = this.#last;
    this.#timer ||= setTimeout(() => {
      this.#timer = 0;
      if (this.#last === had) this.#miss();
      else if (this.#early.size) this.#wait();
    }, PATIENCE);
  }

  #rest() {
    clearTimeout(this.#timer);
    this.#timer = 0;
  }
}
