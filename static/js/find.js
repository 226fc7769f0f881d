// Searching in the conversation: what says the words is counted, stepped through, and fetched.
import { closeInspector } from "./inspector.js";
import { mark, unmark } from "./marks.js";
import { isBefore } from "./places.js";
import { isTyping, shortcutsAreOn } from "./shortcuts.js";
import { fetchJson } from "./source.js";
import { text } from "./text.js";
import { orSay, toast } from "./toast.js";

const PAUSE = 200;
const NOTHING = { places: [], more: false, pattern: "" };

export class Find {
  #form = document.getElementById("find");
  #box = this.#form.elements.q;
  #count = this.#form.querySelector(".find-count");
  #opener = document.querySelector(".find-opener");
  #scroll;
  #goTo;
  #found = NOTHING;
  #asked = null;
  #pending = null;
  #index = -1;
  #row = null;

  /** `goTo` shows the place at a cut and returns its row. */
  constructor(scroll, goTo) {
    this.#scroll = scroll;
    this.#goTo = goTo;
    let timer;
    this.#box.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#typed(), PAUSE);
    });
    this.#form.addEventListener("submit", (event) => event.preventDefault());
    this.#form.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.target !== this.#box) return;
      event.preventDefault();
      this.#step(event.shiftKey ? -1 : 1);
    });
    document.addEventListener("keydown", (event) => this.#pressed(event));
    const does = { open: () => this.open(), close: () => this.close(), next: () => this.#step(1), previous: () => this.#step(-1) };
    document.addEventListener("click", (event) => does[event.target.closest("[data-find]")?.dataset.find]?.());
  }

  /** Go on with a search that the page's address has. */
  async start(address) {
    if (!address.get("q")) return;
    this.#show(true);
    this.#box.value = address.get("q");
    await this.#ask();
    const at = address.get("at");
    if (!at) return;
    this.#index = this.#found.places.indexOf(at);
    await this.#showPlace(at);
  }

  open() {
    closeInspector({ onlyDrawer: true });
    this.#show(true);
    this.#asked = null;
    this.#box.focus();
    this.#box.select();
    this.#ask();
  }

  /** Leave the search; the focus goes to what was found. True when there was one. */
  close() {
    if (this.#form.hidden) return false;
    this.#show(false);
    unmark();
    history.replaceState(null, "", location.pathname);
    const row = this.#row?.isConnected ? this.#row : this.#opener;
    row.focus({ preventScroll: true });
    return true;
  }

  #show(isOpen) {
    this.#form.hidden = !isOpen;
    this.#opener.ariaExpanded = isOpen;
  }

  #pressed(event) {
    if (document.querySelector("dialog[open]")) return;
    const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey;
    const isChord = event.code === "KeyF" && event.shiftKey && (event.ctrlKey || event.metaKey);
    const wanted = slash ? shortcutsAreOn() && !isTyping(event.target) : isChord;
    if (!wanted) return;
    event.preventDefault();
    this.open();
  }

  /** Find out who says the words, unless that is known. */
  #ask() {
    const words = this.#box.value.trim();
    if (words !== this.#asked) this.#pending = this.#fetch((this.#asked = words));
    return this.#pending;
  }

  async #fetch(words) {
    const asked = words && orSay(fetchJson(`${this.#form.dataset.url}?q=${encodeURIComponent(words)}`));
    const found = (await asked) || NOTHING;
    if (found.problem) toast(found.problem, "error");
    if (asked && found === NOTHING) this.#asked = null;
    // Something else may have been asked for in the meantime.
    if (words !== this.#box.value.trim()) return;
    [this.#found, this.#index, this.#row] = [found, -1, null];
    unmark();
    this.#showCount();
  }

  /** What was typed is shown at once, where somebody reads. */
  async #typed() {
    await this.#ask();
    if (this.#index < 0) await this.#step(1);
  }

  async #step(by) {
    await this.#ask();
    const { places } = this.#found;
    if (!places.length) return;
    this.#index = this.#index < 0 ? this.#nearest() : (this.#index + by + places.length) % places.length;
    const at = places[this.#index];
    history.replaceState(null, "", `?at=${at}&q=${encodeURIComponent(this.#asked)}`);
    await this.#showPlace(at);
  }

  async #showPlace(at) {
    const row = await this.#goTo(at);
    this.#row = row;
    this.#showCount();
    const range = row && mark(row, this.#found.pattern);
    if (range) this.#scroll.showRange(range);
  }

  /** The first place that is not above what is being read; the last one where all are. */
  #nearest() {
    const { places } = this.#found;
    const row = this.#scroll.firstRow;
    const here = row ? `${row.dataset.position}.${row.dataset.seq ?? 0}` : "0.0";
    const below = places.findIndex((at) => !isBefore(at, here));
    return below < 0 ? places.length - 1 : below;
  }

  #showCount() {
    const { places, more } = this.#found;
    const values = { number: this.#index + 1, count: places.length };
    this.#form.querySelectorAll("[data-find=next], [data-find=previous]").forEach((one) => (one.disabled = !places.length));
    if (!this.#asked) this.#count.textContent = "";
    else if (this.#index >= 0) this.#count.textContent = text("foundPlace", values);
    else if (more) this.#count.textContent = text("foundMore", values);
    else this.#count.textContent = places.length ? text("found", values) : text("foundNone");
  }
}
