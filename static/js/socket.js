// A WebSocket that comes back: back-off with jitter, and no retry where that cannot help.
// A line that is dead without saying so is noticed, and a page that nobody sees lets go of it.
import { wantsNotifications } from "./notify.js";

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
// A connection that lasted this long was a good one, so the next wait starts anew.
const STEADY = 5000;
// A sign of life is asked for after this silence, and has to come within the second time.
const SILENCE = 8000;
const PATIENCE = 5000;
// A page may be hidden for so long before it lets go of its line.
const HIDDEN = 30000;
// The ends after which nothing is tried until somebody looks again: they may be signed in by then.
const ENDS = { 4401: "expired", 4403: "forbidden" };

export class Socket extends EventTarget {
  #address;
  #place;
  #socket = null;
  #wait = FIRST_WAIT;
  #retry = 0;
  #pulse = 0;
  #rest = 0;

  /** `place` says how far the page is. */
  constructor(path, place) {
    super();
    this.#address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${path}`;
    this.#place = place;
    addEventListener("online", () => this.#wake());
    addEventListener("pageshow", ({ persisted }) => persisted && this.#wake());
    document.addEventListener("visibilitychange", () => (document.hidden ? this.#tire() : this.#wake()));
  }

  get isOpen() {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Connect, and let go of any line there was. */
  open() {
    clearTimeout(this.#retry);
    this.#drop();
    const socket = new WebSocket(`${this.#address}?since=${this.#place()}`);
    const began = Date.now();
    this.#socket = socket;
    this.#tell("line");
    this.#listen(PATIENCE + SILENCE);
    // What an old line still says is past.
    const hear = (type, work) => socket.addEventListener(type, (event) => socket === this.#socket && work(event));
    hear("message", (event) => {
      this.#listen();
      this.#tell("frame", JSON.parse(event.data));
    });
    hear("close", (event) => {
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

  /** Take whatever comes next as a sign of life; ask for one after a silence. */
  #listen(wait = SILENCE) {
    clearTimeout(this.#pulse);
    this.#pulse = setTimeout(() => this.#ask(), wait);
  }

  #ask() {
    clearTimeout(this.#pulse);
    if (this.isOpen) this.#socket.send(JSON.stringify({ type: "ping" }));
    this.#pulse = setTimeout(() => {
      this.#drop();
      this.#closed(0);
    }, PATIENCE);
  }

  #drop() {
    clearTimeout(this.#pulse);
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  #closed(code) {
    clearTimeout(this.#pulse);
    this.#socket = null;
    if (ENDS[code]) return this.#tell(ENDS[code]);
    const wait = this.#wait * (0.5 + Math.random() / 2);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
    this.#retry = setTimeout(() => this.open(), wait);
    return this.#tell("offline", Math.ceil(wait / 1000));
  }

  /** Nobody looks: what runs goes on without being shown, unless a notification is to tell of it. */
  #tire() {
    if (wantsNotifications()) return;
    this.#rest = setTimeout(() => {
      clearTimeout(this.#retry);
      this.#drop();
    }, HIDDEN);
  }

  /** Somebody looks, or the network is back: find out at once how things are. */
  #wake() {
    clearTimeout(this.#rest);
    if (this.isOpen) this.#ask();
    else if (!this.#socket) this.open();
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}
