// The transcript: rows come, change and go; streamed text grows block by block.
import { refreshTitle, tick } from "./activity.js";
import { dressCode, keepWhole } from "./code.js";
import { parse } from "./elements.js";
import { drawFolds } from "./folds.js";
import { isOurs } from "./language.js";
import { isBefore, numbers } from "./places.js";
import { Speech } from "./speech.js";
import { growCode, showBlocks } from "./stream.js";
import { text } from "./text.js";
import { localizeTimes } from "./time.js";
import { toast } from "./toast.js";

// A finished reply's row follows within this time; until then the streamed text stays.
const LINGER = 1500;
// Rows that could not be fetched are fetched again after pauses that grow up to the second one.
const FIRST_PAUSE = 1000;
const LONGEST_PAUSE = 30000;
const WRITTEN = ".message-assistant:not(.is-streaming)";
// What the ids of the parts of a reply begin with while it is written.
const PART = "streaming-";
// Where the page goes on above and below; what is written meanwhile stands under the latter.
const LOADER = ".older, .newer";

/** Say of a thought that is being written what is said of it now; it stays as open as it is. */
function tell(old, fresh) {
  const words = fresh.querySelector("summary");
  if (words) old.querySelector("summary").replaceChildren(...words.childNodes);
}

/** Open the thoughts of a row that are open in the one whose place it takes. */
function leaveOpen(old, fresh) {
  const thoughts = [...(old?.querySelectorAll(".thought") ?? [])];
  for (const [at, one] of [...fresh.querySelectorAll(".thought")].entries()) one.open = Boolean(thoughts[at]?.open);
}

/** Leave what was typed into a form in the one that takes its place. */
function leaveTyped(old, fresh) {
  for (const one of old.querySelectorAll("[name=words]")) {
    const heir = `[hx-post="${one.form.getAttribute("hx-post")}"] [name=words]`;
    if (one.value !== one.defaultValue) fresh.querySelector(heir)?.replaceWith(one);
  }
}

export class Transcript {
  #scroll;
  #pause = FIRST_PAUSE;
  #retry = 0;
  #speech = new Speech();

  constructor(scroll) {
    this.#scroll = scroll;
    this.#dress(this.root);
    document.body.addEventListener("htmx:afterSwap", (event) => {
      if (event.detail.target.matches(LOADER)) this.#dress(this.root);
    });
    document.body.addEventListener("htmx:beforeSwap", (event) => this.#keepPlace(event));
    document.addEventListener("opener-gone", ({ detail }) => this.#focus(detail));
  }

  get root() {
    return document.getElementById("transcript");
  }

  get revision() {
    return Number(this.root.dataset.revision);
  }

  upsert(id, html) {
    const fresh = parse(html).firstElementChild;
    const old = document.getElementById(id);
    if (!fresh || (!old && fresh.matches(".tool"))) return;
    if (id.startsWith(PART)) {
      this.#scroll.keep(() => (old ? tell(old, fresh) : document.querySelector("#streaming > .message-body")?.append(fresh)));
      return;
    }
    // A row with an estimated height would make the page jump.
    fresh.classList.add("is-live");
    this.#scroll.keep(() => {
      document.getElementById("empty")?.remove();
      if (!old && fresh.matches(".message-user")) this.#withdrawOffers();
      // A fetched transcript may have had the reply's row while its text was still arriving.
      const written = fresh.matches(WRITTEN) ? this.root.querySelector("[data-finished]") : null;
      if (old ?? written) keepWhole(old ?? written, fresh);
      leaveOpen(old ?? written, fresh);
      if (old) this.#replace(old, fresh);
      else if (written) written.before(fresh);
      else this.root.append(fresh);
      written?.remove();
      this.#dress(fresh.matches(".tool") ? fresh : fresh.parentElement);
      if (fresh.matches(".is-streaming")) tick();
      if (fresh.matches(WRITTEN)) this.#speech.end(fresh);
      else if (!old && fresh.matches(".is-streaming")) this.#speech.begin();
      return written && fresh;
    });
    if (!old && fresh.matches(".message:not(.is-streaming)")) this.#scroll.arrived();
  }

  /** Take back what could be undone, tried again or continued until something new was said. */
  #withdrawOffers() {
    for (const offer of this.root.querySelectorAll("[data-until-next]")) {
      const row = offer.closest(".row");
      row.classList.remove("is-open");
      row.querySelector("[role=alert]")?.removeAttribute("role");
      offer.remove();
    }
  }

  remove(id) {
    const element = document.getElementById(id);
    if (!element?.classList.contains("is-streaming")) {
      this.#scroll.keep(() => element?.remove());
      return;
    }
    // The next reply may begin before this one is gone.
    for (const one of [element, ...element.querySelectorAll(`[id^="${PART}"]`)]) one.removeAttribute("id");
    element.dataset.finished = "";
    element.ariaBusy = false;
    setTimeout(() => this.#scroll.keep(() => element.remove()), LINGER);
  }

  /** Give up what was written here when the line was lost, unless it still is. */
  settle(ids) {
    for (const row of this.root.querySelectorAll(".is-streaming:not([data-finished])")) {
      if (!ids.includes(row.id)) this.remove(row.id);
    }
  }

  /** Let what was being written stand as it is: no more of it comes. */
  end() {
    for (const row of this.root.querySelectorAll(".is-streaming")) row.ariaBusy = false;
  }

  /** Show streamed text; of a page that was just opened, it is older than that. */
  stream(frame, isOld = false) {
    const target = this.#written(frame.id);
    if (!target) return;
    this.#scroll.keep(() => {
      const done = showBlocks(target, frame, () => dressCode(target.parentElement));
      this.#speech.add(target, done, isOld);
    });
  }

  streamCode(frame) {
    const target = this.#written(frame.id);
    if (target) this.#scroll.keep(() => growCode(target, frame));
  }

  #written(id) {
    return this.root.querySelector(`#${id}[data-stream], #${id} > [data-stream]`);
  }

  /** Whether a place lies between the first and the last of the rows that are here. */
  covers(at) {
    const [older, newer] = this.#cuts();
    return !(older && isBefore(at, older)) && !(newer && !isBefore(at, newer));
  }

  /** Return the row at a place; results of tools stand in the row of their calls. */
  rowAt(at) {
    const [position, seq] = numbers(at);
    const exact = seq && this.root.querySelector(`[data-seq="${seq}"]`);
    const before = (row) => Number(row.dataset.position) <= position;
    return exact || [...this.root.querySelectorAll(".message[data-position]")].findLast(before);
  }

  /** Whether there are later rows than those that are here. */
  get goesOn() {
    return Boolean(this.#cuts()[1]);
  }

  showAround(at) {
    return this.#fetch(`?at=${at}`);
  }

  showLatest() {
    return this.#fetch("");
  }

  /** Fetch the rows that are here again; where that fails, say so and ask for it after a pause. */
  async refetch() {
    clearTimeout(this.#retry);
    try {
      await this.#fetch(this.#span());
      this.#pause = FIRST_PAUSE;
    } catch {
      toast(text("notRefetched"), "error");
      this.#retry = setTimeout(() => document.body.dispatchEvent(new Event("transcript-changed")), this.#pause);
      this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE);
    }
  }

  /** Return the cuts before the first and after the last row; "" at the beginning and the end. */
  #cuts() {
    return [".older", ".newer"].map((name) => this.root.querySelector(`:scope > ${name}`)?.dataset.cut ?? "");
  }

  #span() {
    const [older, newer] = this.#cuts();
    return newer || !this.#scroll.isFollowing ? `?after=${older}&before=${newer}` : "";
  }

  /** Show the rows that the server answers with; throw where it can't be reached or fails. */
  async #fetch(query) {
    const response = await fetch(this.root.dataset.url + query, { headers: { "HX-Request": "true" } });
    if (response.status >= 500) throw new Error(response.status);
    // The line at the composer says so where the session or the conversation is over.
    if (!response.ok || response.redirected || !isOurs((name) => response.headers.get(name))) return;
    const fresh = parse(await response.text()).firstElementChild;
    if (fresh?.id !== "transcript") return;
    const focused = this.root.contains(document.activeElement) && document.activeElement;
    this.#scroll.keep(() => this.#swap(fresh));
    // What is forgotten leaves the conversation's name, too.
    if (fresh.dataset.title !== document.getElementById("title").title) refreshTitle();
    if (focused && document.activeElement === document.body) this.#focus(focused);
  }

  #swap(fresh) {
    const root = this.root;
    const open = [...root.querySelectorAll("details[open]")].map((one) => this.#path(one));
    const tabs = [...root.querySelectorAll(".tabs :checked")].map((one) => `[name="${one.name}"][value="${one.value}"]`);
    const written = [...root.querySelectorAll(".is-streaming:not([data-finished]), .is-unsaved")];
    const told = [...root.querySelectorAll(".tool.is-live")];
    const edited = root.querySelector(".message.is-editing");
    for (const row of fresh.querySelectorAll(".row")) keepWhole(document.getElementById(row.id) ?? row, row);
    if (!this.#scroll.isFollowing) this.#measure(root);
    leaveTyped(root, fresh);
    root.dataset.revision = fresh.dataset.revision;
    root.replaceChildren(...fresh.childNodes);
    for (const row of written) if (!document.getElementById(row.id)) root.append(row);
    // Results are stored once all calls of a reply have ended.
    for (const card of told) root.querySelector(`:is(.tool-unanswered, .tool-waiting)#${CSS.escape(card.id)}`)?.replaceWith(card);
    edited?.onreplaced();
    if (written.length) document.getElementById("empty")?.remove();
    for (const path of open) document.querySelector(path)?.setAttribute("open", "");
    for (const tab of root.querySelectorAll(tabs.join() || "none")) tab.checked = true;
    this.#dress(root);
  }

  /** Focus what its row has in place of `old`, or the row; the composer where that is gone, too. */
  #focus(old) {
    const row = document.getElementById(old.closest(".row")?.id);
    const controls = [...(row?.querySelectorAll("a, button, summary") ?? [])];
    const same = controls.find((one) => one.textContent === old.textContent && one.ariaLabel === old.ariaLabel);
    if (row) row.tabIndex = -1;
    for (const one of [old, same, row, document.getElementById("message")]) {
      one?.focus({ preventScroll: true });
      if (document.activeElement === one) return;
    }
  }

  /** Lay every row out in full for two frames: the browser then remembers their heights. */
  #measure(root) {
    root.classList.add("is-measured");
    requestAnimationFrame(() => requestAnimationFrame(() => root.classList.remove("is-measured")));
  }

  #path(details) {
    const row = details.closest(".row");
    const place = [...row.querySelectorAll("details")].indexOf(details);
    const name = details.id ? `#${CSS.escape(details.id)}` : `details:nth-of-type(${place + 1})`;
    // What is undone meanwhile closes.
    return `#${CSS.escape(row.id)}${row.matches(".is-undone") ? "" : ":not(.is-undone)"} ${name}`;
  }

  #replace(old, fresh) {
    leaveTyped(old, fresh);
    for (const part of fresh.querySelectorAll(`[id^="${PART}"]`)) {
      const known = old.querySelector(`#${part.id}`);
      if (known?.tagName !== part.tagName) continue;
      tell(known, part);
      part.replaceWith(known);
    }
    old.replaceWith(fresh);
  }

  #dress(root) {
    localizeTimes(root);
    dressCode(root);
    drawFolds(this.root);
    window.htmx.process(root);
    this.#markNewest();
    this.#markVersions();
  }

  /** The newest message shows its actions without being pointed at. */
  #markNewest() {
    this.root.querySelector(".is-newest")?.classList.remove("is-newest");
    const rows = this.root.querySelectorAll(":scope > .message-assistant:not(.is-streaming, .is-hidden)");
    [...rows].at(-1)?.classList.add("is-newest");
  }

  /** A version that was set aside has a row only where no message leads to it. */
  #markVersions() {
    for (const row of this.root.querySelectorAll(".is-version")) {
      const choice = this.root.querySelector(`.versions[data-place="${row.dataset.place}"]`);
      row.classList.toggle("is-only-way", !choice);
    }
  }

  #keepPlace(event) {
    if (!event.detail.target.matches(LOADER)) return;
    event.detail.shouldSwap = false;
    const box = event.detail.target;
    const fresh = parse(event.detail.serverResponse);
    this.#measure(this.root);
    this.#scroll.keep(() => {
      // What was written while the page ended further up is among what comes now.
      for (const row of fresh.querySelectorAll(".row")) document.getElementById(row.id)?.remove();
      box.replaceWith(fresh);
      this.#dress(this.root);
    });
  }
}
