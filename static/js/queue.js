// Messages that wait for what runs: chips above the composer, edited in place.
import { onEnter } from "./elements.js";
import { fetchText } from "./source.js";
import { text } from "./text.js";
import { orSay } from "./toast.js";

export class Queue {
  #place = document.getElementById("queue");
  #socket;
  #composer;
  // The chip that is edited, until the server has its new text.
  #edited = null;
  // The text that was not understood: saved once more, it is text.
  #unclear = null;

  constructor(socket, composer) {
    this.#socket = socket;
    this.#composer = composer;
    this.#place.addEventListener("click", ({ target }) => {
      const button = target.closest("[data-queue]");
      if (button) this.#act(button.dataset.queue, button.closest(".queued"));
    });
    onEnter(this.#place, () => this.#save(this.#edited));
  }

  get #chips() {
    return [...this.#place.querySelectorAll(".queued")];
  }

  show(html) {
    const focused = this.#place.contains(document.activeElement) ? document.activeElement : null;
    this.#place.innerHTML = html;
    const edited = this.#edited;
    if (edited) {
      const place = this.#chips.find((chip) => chip.dataset.queued === edited.dataset.queued);
      if (place) place.replaceWith(edited);
      else this.#rescue(edited);
    }
    if (focused?.isConnected) focused.focus();
    else if (focused) this.#composer.focus();
  }

  /** Edit the message that was queued last; false when none waits. */
  editLast() {
    const last = this.#chips.at(-1);
    if (last) this.#act("edit", last);
    return Boolean(last);
  }

  /** Leave the edit; true when there was one. */
  cancel() {
    const edited = this.#edited;
    if (!edited) return false;
    this.#edited = null;
    edited.querySelector(".queued-edit").remove();
    edited.classList.remove("is-editing");
    this.#composer.focus();
    return true;
  }

  accepted(nonce) {
    if (this.#edited?.dataset.queued === nonce) this.cancel();
  }

  /** Say why the new text was not understood. */
  refused(nonce, reason) {
    if (this.#edited?.dataset.queued !== nonce) return;
    this.#unclear = this.#edited.querySelector("textarea").value;
    this.#edited.querySelector("[role=status]").textContent = reason;
  }

  async #act(what, chip) {
    const nonce = chip.dataset.queued;
    if (what === "cancel") return this.cancel();
    if (what === "save") return this.#save(chip);
    if (what === "edit") return this.#edit(chip);
    this.#socket.send({ type: `queue.${what}`, nonce });
    this.#composer.focus();
  }

  async #edit(chip) {
    this.cancel();
    const words = await orSay(fetchText(chip.dataset.text));
    if (words === undefined || !chip.isConnected || this.#edited) return;
    const form = document.getElementById("queued-edit").content.cloneNode(true);
    const area = form.querySelector("textarea");
    area.defaultValue = words;
    chip.append(form);
    chip.classList.add("is-editing");
    this.#edited = chip;
    area.focus();
    area.setSelectionRange(words.length, words.length);
    // The buttons too, where several messages wait.
    chip.scrollIntoView({ block: "nearest" });
  }

  #save(chip) {
    const words = chip.querySelector("textarea").value;
    const literal = words === this.#unclear;
    const command = { type: "queue.change", nonce: chip.dataset.queued, text: words, literal };
    if (words.trim()) this.#socket.send(command);
  }

  /** What was being written goes to the composer where the message is gone. */
  #rescue(chip) {
    this.#edited = null;
    this.#composer.takeUp(chip.querySelector("textarea").value);
  }
}
