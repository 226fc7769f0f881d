// Three states: following the end, reading somewhere above it, and the way back with a count.
import { hold } from "./held.js";
import { text } from "./text.js";

const NEAR = 48;
// Of the height: so much stays blank below the end before what is read is drawn down to it.
const SLACK = 0.3;
// So many blocks in view tell where a reader is: some may be folded away.
const MARKS = 5;

export class Scroll {
  #box = document.getElementById("scroller");
  #end = document.getElementById("end");
  #jump = document.getElementById("jump");
  #following = true;
  #unread = 0;
  // What was clicked, and its row: each with where it was in the window.
  #held = [];
  #top = 0;
  #seen = { content: 0, view: 0 };

  /** `toLatest` brings the newest rows onto the page, if need be, and shows the end. */
  constructor(toLatest) {
    this.#box.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.#box.addEventListener("wheel", (event) => event.deltaY < 0 && this.read(), { passive: true });
    this.#box.addEventListener("click", (event) => this.#hold(event.target), { capture: true });
    document.addEventListener("selectionchange", () => this.#selected());
    this.#jump.addEventListener("click", () => this.#leap(toLatest));
    // What grows or folds by itself (images, a record that opens, a taller composer) counts too.
    const resized = new ResizeObserver(() => this.#settle());
    resized.observe(this.#box);
    resized.observe(document.getElementById("transcript"));
  }

  /** The first row that is in view. */
  get firstRow() {
    const top = this.#box.getBoundingClientRect().top;
    const rows = [...this.#box.querySelectorAll(".row")];
    return rows.find((row) => row.getBoundingClientRect().bottom > top + 1);
  }

  get isFollowing() {
    return this.#following;
  }

  /** Leave the end, and let go of what was clicked: someone else moves the page now. */
  read() {
    this.#held = [];
    if (this.#content() - this.#box.clientHeight < 1 && !this.#goesOn()) return;
    this.#following = false;
    this.#show();
  }

  /** Bring a row to the top; it stays there while those around it take their size. */
  show(row) {
    this.read();
    row.scrollIntoView({ block: "start" });
    this.#moveTo(this.#box.scrollTop);
    this.#held = [placed(row)];
    this.#show();
  }

  /** Bring what a range covers into view, in its row's own boxes too; it stays there. */
  showRange(range) {
    const element = range.startContainer.parentElement;
    for (let one = element; one !== this.#box; one = one.parentElement) scrollWithin(one, range);
    const { top, bottom } = range.getBoundingClientRect();
    const box = this.#box.getBoundingClientRect();
    if (top < box.top + 2 * NEAR || bottom > box.bottom) this.#moveTo(this.#box.scrollTop + top - box.top - box.height / 3);
    this.#held = [placed(element)];
    this.#show();
  }

  /** Bring an element into view, as far as it fits; one that is in view stays where it is. */
  bring(element) {
    const box = this.#box.getBoundingClientRect();
    const { top, bottom } = element.getBoundingClientRect();
    const above = top - box.top;
    const missing = above < 0 ? above : Math.min(above, Math.max(0, bottom - box.bottom));
    if (!missing) return;
    this.read();
    this.#moveTo(this.#box.scrollTop + missing);
    this.#held = [placed(element)];
    this.#show();
  }

  toEnd() {
    this.#follow();
    this.#moveTo(this.#lowest());
    this.#show();
  }

  /**
   * Change the page; what is being read or held stays where it is, the end stays the end.
   * `change` returns the row that takes the place of one it removed, if any.
   */
  keep(change) {
    const anchors = this.#following ? [] : this.#anchors();
    const again = hold(this.#box);
    const heir = change();
    again(heir);
    if (this.#following) this.#stick(true);
    this.#settle(anchors, heir);
  }

  /** Count a message that arrived below what is being read. */
  arrived() {
    if (this.#following) return;
    this.#unread += 1;
    this.#show();
  }

  #follow() {
    this.#following = true;
    this.#held = [];
    this.#unread = 0;
  }

  async #leap(toLatest) {
    const focused = document.activeElement === this.#jump;
    await toLatest();
    // A hidden button can't keep the focus.
    if (focused) document.getElementById("message").focus({ preventScroll: true });
  }

  /** Whoever clicks in the transcript reads it: what was clicked stays under the pointer. */
  #hold(target) {
    // A click on a label comes again from its field, when what it changes has moved already.
    if (target.matches("label input")) return;
    this.#following = false;
    this.#held = [target.closest("summary, button, a, label"), target.closest(".row")].filter(isShown).map(placed);
    this.#show();
  }

  /** Put everything in its place after the page changed, or changed its size. */
  #settle(anchors = this.#held, heir = null) {
    if (this.#following) this.#stick();
    else this.#keepPlace(anchors, heir);
    // With what was clicked goes what its row was held for.
    const held = this.#held.flatMap((one) => current(one, heir) ?? []);
    this.#held = held.length === this.#held.length ? held : [];
    this.#seen = { content: this.#content(), view: this.#box.clientHeight };
    this.#show();
  }

  /** Scroll so that nothing moves; where the nearest of it is gone, to the end at most. */
  #keepPlace(anchors, heir) {
    const top = this.#box.scrollTop + shift(anchors, heir);
    const isGone = anchors.length > 0 && !current(anchors[0], heir);
    this.#moveTo(isGone ? Math.min(top, this.#lowest()) : top);
    // Rows that came may yet take their full size: who is at the end stays there.
    if (isGone && this.#isAtEnd()) this.#follow();
  }

  /** What must not move, the nearest first: what was clicked, else the first blocks and rows in view. */
  #anchors() {
    const { top, bottom } = this.#box.getBoundingClientRect();
    const rows = [...this.#box.querySelectorAll(".row")].filter((row) => {
      const place = row.getBoundingClientRect();
      return place.bottom > top + 1 && place.top < bottom;
    });
    const blocks = rows.flatMap((row) => blocksBelow(row, top)).slice(0, MARKS);
    // The line of a run that goes on further up moves there with the rows that are fetched.
    const steady = rows.find((row) => !row.querySelector(".calls-line"));
    return [...this.#held, ...blocks, ...[steady, rows[0]].filter(Boolean).map(placed)];
  }

  /** Show the end; where a change drew it back a little, it comes again to what is being read. */
  #stick(isChange = this.#end.offsetHeight > 0) {
    const end = this.#lowest();
    const sank = this.#top - end;
    const mayStay = isChange && this.#box.clientHeight === this.#seen.view && sank < this.#box.clientHeight * SLACK;
    this.#moveTo(mayStay ? Math.max(end, this.#top) : end);
  }

  /** Scroll there, with as much room below the end as that takes. */
  #moveTo(top) {
    this.#makeRoom(top);
    if (this.#box.scrollTop !== top) this.#box.scrollTop = top;
    this.#top = this.#box.scrollTop;
  }

  #makeRoom(top) {
    const missing = Math.max(0, top + this.#box.clientHeight - this.#content());
    if (this.#end.offsetHeight !== missing) this.#end.style.height = `${missing}px`;
  }

  #content() {
    return document.getElementById("transcript").offsetHeight;
  }

  #lowest() {
    return Math.max(0, this.#content() - this.#box.clientHeight);
  }

  /** Whether there are later rows than the page has. */
  #goesOn() {
    return Boolean(this.#box.querySelector(".newer"));
  }

  #isAtEnd() {
    return this.#lowest() - this.#box.scrollTop < NEAR && !this.#goesOn();
  }

  #scrolled() {
    // Before the page is told of a new size, the browser may have scrolled to suit it.
    const { content, view } = this.#seen;
    if (content !== this.#content() || view !== this.#box.clientHeight) return this.#settle();
    const moved = this.#box.scrollTop - this.#top;
    if (Math.abs(moved) < 1) return undefined;
    this.#top = this.#box.scrollTop;
    if (shift(this.#held)) this.#held = [];
    if (moved < 0) this.read();
    else if (this.#isAtEnd()) this.#follow();
    this.#makeRoom(this.#top);
    return this.#show();
  }

  #selected() {
    const selection = getSelection();
    if (!selection.isCollapsed && this.#box.contains(selection.anchorNode)) this.read();
  }

  #show() {
    const hidden = this.#following || this.#isAtEnd();
    const words = this.#unread ? text("newMessages", { count: this.#unread }) : text("jump");
    // What is set again is drawn again.
    if (this.#jump.hidden !== hidden) this.#jump.hidden = hidden;
    if (this.#jump.textContent !== words) this.#jump.querySelector("span").textContent = words;
  }
}

/** Bring a range into view within one of the boxes that it lies in. */
function scrollWithin(box, range) {
  const outer = box.getBoundingClientRect();
  const { top, bottom, right } = range.getBoundingClientRect();
  if (top < outer.top || bottom > outer.bottom) box.scrollTop += top - outer.top - outer.height / 3;
  if (right > outer.right) box.scrollLeft += right - outer.right + NEAR;
}

/** What a closed fold hides has a place all the same: only a check tells that it is not seen. */
function isShown(node) {
  return Boolean(node?.checkVisibility());
}

/** The parts of a message, each text of it as its blocks. */
function blocksOf(row) {
  const parts = [...(row.querySelector(":scope > .message-body")?.children ?? [])];
  return parts.flatMap((part) => (part.matches(".prose") ? [...part.children] : part.matches(".calls-line") ? [] : [part]));
}

/** The first blocks of a row that end below a height, and their places in it. */
function blocksBelow(row, top) {
  const blocks = blocksOf(row);
  let [first, end] = [0, blocks.length];
  while (first < end) {
    const middle = (first + end) >> 1;
    if (blocks[middle].getBoundingClientRect().bottom > top + 1) end = middle;
    else first = middle + 1;
  }
  return blocks.slice(first, first + MARKS).map((node, at) => ({ ...placed(node), row, index: first + at }));
}

function placed(node) {
  return { node, top: node.getBoundingClientRect().top };
}

/** What is now where something was, drawn anew or by the heir of a row; null where nothing is. */
function current({ node, top, row, index }, heir = null) {
  const again = document.getElementById(node.id) ?? (node.matches(".row") ? heir : null);
  const same = node.isConnected ? node : row ? sameBlock(node, current({ node: row }, heir)?.node, index) : again;
  return isShown(same) ? { node: same, top } : null;
}

function sameBlock(node, row, index) {
  const block = row && blocksOf(row)[index];
  return block?.tagName === node.tagName ? block : null;
}

/** How far the first of them that is still there was moved; a row that was drawn anew counts. */
function shift(anchors, heir) {
  for (const anchor of anchors) {
    const found = current(anchor, heir);
    if (found) return found.node.getBoundingClientRect().top - anchor.top;
  }
  return 0;
}
