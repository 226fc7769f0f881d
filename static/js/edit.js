// Editing a message in place: the row becomes a small composer, and Esc leaves it as it was.
import { make, makeButton, onEnter } from "./elements.js";
import { sourceOf } from "./source.js";
import { session } from "./storage.js";
import { text } from "./text.js";
import { orSay } from "./toast.js";

// What was typed in the edit that the page was left with, and the row it was in.
const LEFT = `edit-${location.pathname}`;

const rowOf = (id) => document.querySelector(`#${id}[data-editable]`);

export class Editing {
  #composer;
  #scroll;
  #before = [];
  // Places of what is attached and shall not be any more.
  #dropped = new Set();

  constructor(composer, scroll) {
    this.#composer = composer;
    this.#scroll = scroll;
    document.addEventListener("click", (event) => {
      const opener = event.target.closest("[data-edit]");
      if (opener) this.start(opener.closest(".message"));
    });
    addEventListener("pagehide", () => {
      const area = document.querySelector(".is-editing textarea");
      const isTyped = area && area.value !== area.defaultValue;
      session.set(LEFT, isTyped ? JSON.stringify([area.closest(".row")?.id, area.value]) : null);
    });
    const [id, words] = JSON.parse(session.get(LEFT)) ?? [];
    if (rowOf(id)) this.start(rowOf(id), words);
    else if (words) composer.takeUp(words);
  }

  get row() {
    return document.querySelector(".message.is-editing");
  }

  /** Edit the newest message that can be edited; false when there is none. */
  startLast() {
    const rows = document.querySelectorAll("#transcript > .message[data-editable]:not(.is-hidden)");
    const last = [...rows].at(-1);
    if (last) this.start(last);
    return Boolean(last);
  }

  async start(row, typed) {
    if (!this.#composer.canSend()) return;
    this.cancel();
    const words = await orSay(sourceOf(row));
    // Meanwhile it may have been replaced, or something begun.
    if (words === undefined || this.row || !row.isConnected || this.#composer.running) return;
    const area = make("textarea", { defaultValue: words, value: typed ?? words, dir: "auto", ariaLabel: text("yourEdit") });
    const foot = make(
      "div",
      { className: "edit-foot" },
      make("span", { className: "hint" }, text(document.querySelector(`#${row.id} ~ .row .forgot`) ? "startsRemembering" : "startsVersion")),
      makeButton("button", text("cancel"), () => this.cancel()),
      makeButton("button primary", text("send"), () => this.#save(area)),
    );
    this.#dropped.clear();
    const attached = row.querySelectorAll(".message-body > .attached[data-block]");
    const kept = [...attached].map((one) => this.#kept(one.cloneNode(true), area));
    this.#open(row, [...kept, make("div", { className: "edit" }, area, foot)]);
    onEnter(area, () => this.#save(area));
    this.#scroll.read();
    area.focus();
    area.setSelectionRange(area.value.length, area.value.length);
    row.scrollIntoView({ block: "nearest" });
  }

  #open(row, parts) {
    const body = row.querySelector(".message-body");
    this.#before = [...body.childNodes];
    body.replaceChildren(...parts);
    row.classList.add("is-editing");
    row.onreplaced = () => this.#move(row);
  }

  /** Go on in the row that replaced the edited one, or in the composer. */
  #move(old) {
    const row = rowOf(old.id);
    if (row) return this.#open(row, old.querySelector(".message-body").childNodes);
    this.#composer.takeUp(old.querySelector("textarea").value);
  }

  /** Leave the edit; true when there was one. */
  cancel() {
    const row = this.row;
    if (!row) return false;
    const body = row.querySelector(".message-body");
    body.replaceChildren(...this.#before);
    row.classList.remove("is-editing");
    this.#composer.focus();
    return true;
  }

  /** What is attached stays with the message, unless it is removed. */
  #kept(attached, area) {
    const name = attached.querySelector("img")?.alt ?? attached.querySelector(".attached-name").textContent;
    const remove = makeButton("button", text("remove"), () => {
      this.#dropped.add(Number(attached.dataset.block));
      kept.remove();
      area.focus();
    });
    remove.ariaLabel = text("removeName", { name });
    attached.removeAttribute("open");
    const kept = make("div", { className: "edit-kept" }, attached, remove);
    return kept;
  }

  #save(area) {
    const alone = !this.row.querySelector(".edit-kept");
    const options = { alone, drops: [...this.#dropped] };
    if (this.#composer.replace(Number(this.row.dataset.seq), area.value, options)) this.cancel();
  }
}
