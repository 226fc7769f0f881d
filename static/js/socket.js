// A WebSocket that comes back: back-off with jitter, and no retry where that cannot help.
const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
// A connection that lasted this long was a good one, so the next wait starts anew.
const STEADY = 5000;
const EXPIRED = 4401;
const NOT_YOURS = 4403;

export class Socket extends EventTarget {
  #address;
  #socket = null;
  #wait = FIRST_WAIT;
  #timer = 0;

  constructor(path) {
    super();
    this.#address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
    addEventListener("online", () => this.#retryNow());
    document.addEventListener("visibilitychange", () => document.hidden || this.#retryNow());
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  open() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const socket = new WebSocket(this.#address);
    const began = Date.now();
    this.#socket = socket;
    socket.addEventListener("message", (event) => this.#tell("frame", JSON.parse(event.data)));
    socket.addEventListener("close", (event) => {
      if (Date.now() - began > STEADY) this.#wait = FIRST_WAIT;
      this.#closed(event.code);
    });
  }

  /** Send a command; false when it could not be, which "unsent" tells whoever shows it. */
  send(command) {
    if (this.isOpen) this.#socket.send(JSON.stringify(command));
    this.#tell(this.isOpen ? "sent" : "unsent", command.type);
    return this.isOpen;
  }

  #closed(code) {
    if (code === EXPIRED || code === NOT_YOURS) {
      this.#tell(code === EXPIRED ? "expired" : "forbidden");
      return;
    }
    const wait = this.#wait * (0.5 + Math.random() / 2);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
    this.#timer = setTimeout(() => this.open(), wait);
    this.#tell("offline", Math.ceil(wait / 1000));
  }

  #retryNow() {
    if (this.#timer) this.open();
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
