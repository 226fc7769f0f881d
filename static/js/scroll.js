// Three states: following the end, reading somewhere above it, and the way back with a count.
import { text } from "./text.js";

const NEAR = 48;

export class Scroll {
  #box = document.getElementById("scroller");
  #jump = document.getElementById("jump");
  #following = true;
  #unread = 0;
  #top = 0;

  constructor() {
    this.#box.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#box.addEventListener("wheel", (event) => event.deltaY < 0 && this.read(), { passive: true });
    document.addEventListener("selectionchange", () => this.#selected());
    this.#jump.addEventListener("click", () => this.toEnd());
    // What grows under the reader's eyes (images, fonts, a taller composer) is followed too.
    const grown = new ResizeObserver(() => this.#following && this.#stick());
    grown.observe(this.#box);
    grown.observe(document.getElementById("transcript"));
  }

  get isFollowing() {
    return this.#following;
  }

  follow() {
    this.#following = true;
    this.#unread = 0;
    this.#show();
  }

  read() {
    if (this.#box.scrollHeight - this.#box.clientHeight < 1) return;
    this.#following = false;
    this.#show();
  }

  toEnd() {
    this.follow();
    this.#stick();
  }

  /**
   * Change the page; what is being read stays where it is, the end stays the end.
   * `change` returns the row that takes the place of one it removed, if any.
   */
  keep(change) {
    const anchor = this.#following ? null : this.#anchor();
    const before = anchor?.getBoundingClientRect().top;
    const heir = change();
    if (this.#following) this.#stick();
    else this.#restore(anchor, before, heir);
  }

  /** Count a message that arrived below what is being read. */
  arrived() {
    if (this.#following) return;
    this.#unread += 1;
    this.#show();
  }

  #restore(anchor, before, heir) {
    if (!anchor) return;
    const same = anchor.isConnected ? anchor : (document.getElementById(anchor.id) ?? heir);
    if (same) this.#box.scrollTop += same.getBoundingClientRect().top - before;
  }

  /** The first row that is in view. */
  #anchor() {
    const top = this.#box.getBoundingClientRect().top;
    const rows = this.#box.querySelectorAll(".row");
    return [...rows].find((row) => row.getBoundingClientRect().bottom > top + 1) ?? null;
  }

  #stick() {
    this.#box.scrollTop = this.#box.scrollHeight;
    this.#top = this.#box.scrollTop;
  }

  #distance() {
    return this.#box.scrollHeight - this.#box.clientHeight - this.#box.scrollTop;
  }

  #scrolled() {
    const up = this.#box.scrollTop < this.#top - 1;
    this.#top = this.#box.scrollTop;
    if (this.#distance() < NEAR && !up) this.follow();
    else if (up && this.#distance() >= NEAR) this.read();
    this.#show();
  }

  #selected() {
    const selection = getSelection();
    if (!selection.isCollapsed && this.#box.contains(selection.anchorNode)) this.read();
  }

  #show() {
    this.#jump.hidden = this.#following || this.#distance() < NEAR;
    const words = this.#unread ? text("newMessages", { count: this.#unread }) : text("jump");
    this.#jump.querySelector("span").textContent = words;
  }
}
