// What goes with the next message: files by picker, drop and paste, as chips until they are sent.
import { make } from "./elements.js";
import { fitted } from "./pictures.js";
import { fetchText } from "./source.js";
import { text } from "./text.js";
import { orSay, toast } from "./toast.js";

// Characters: about a thousand tokens, and more than the composer shows at once.
const LONG_PASTE = 4000;

const headers = { ...JSON.parse(document.body.getAttribute("hx-headers")), "HX-Request": "true" };

export class Attachments {
  #list = document.getElementById("attachments");
  #said = document.getElementById("attachments-said");
  #box;
  #onChange;
  #address;
  #most;
  #uploads = 0;
  #restoring = [];

  constructor(box, onChange) {
    this.#box = box;
    this.#onChange = onChange;
    this.#address = this.#list.dataset.address;
    this.#most = Number(this.#list.dataset.most);
    this.#startPicker();
    this.#startDropping();
    box.addEventListener("paste", (event) => this.#pasted(event));
    this.#list.addEventListener("click", ({ target }) => this.#clicked(target));
    addEventListener("beforeunload", (event) => {
      if (this.#uploads) event.preventDefault();
    });
  }

  /** The ids of what is attached, in order. */
  get ids() {
    const chips = [...this.#list.querySelectorAll("[data-attachment]")];
    return [...this.#restoring, ...chips.map((chip) => chip.dataset.attachment)];
  }

  /** Whether something is on its way. */
  get isComing() {
    return this.#uploads > 0 || this.#restoring.length > 0;
  }

  /** Show what was attached before, on another page or this one. */
  async restore(wanted) {
    const ids = wanted.filter((id) => !this.ids.includes(id));
    if (!ids.length) return;
    this.#restoring = ids;
    const asked = new URLSearchParams(ids.map((id) => ["id", id]));
    const chips = await orSay(fetchText(`${this.#address}?${asked}`));
    if (chips) this.#list.insertAdjacentHTML("afterbegin", chips);
    this.#restoring = [];
  }

  /** Take off what was sent. */
  clear(ids) {
    for (const id of ids) this.#list.querySelector(`[data-attachment="${CSS.escape(id)}"]`)?.remove();
  }

  /** Attach files, one after the other. */
  async add(files) {
    for (const file of files) {
      if (this.#list.children.length >= this.#most) {
        toast(text("tooManyAttachments", { count: this.#most }), "error");
        return;
      }
      const place = make("li", { className: "chip is-coming" }, text("attaching", { name: file.name }));
      this.#list.append(place);
      this.#uploads += 1;
      this.#onChange();
      const chip = await this.#upload(file).catch(() => "");
      this.#uploads -= 1;
      if (chip) place.insertAdjacentHTML("afterend", chip);
      place.remove();
      if (chip) this.#say("attached", file.name);
      this.#onChange();
    }
  }

  #startPicker() {
    const picker = document.getElementById("picker");
    document.getElementById("attach").addEventListener("click", () => picker.click());
    picker.addEventListener("change", () => {
      this.add([...picker.files]);
      // The same file can be chosen again.
      picker.value = "";
      this.#box.focus();
    });
  }

  #startDropping() {
    const isFile = (event) => event.dataTransfer?.types.includes("Files");
    const show = (dropping) => document.body.classList.toggle("is-dropping", dropping);
    document.addEventListener("dragover", (event) => {
      if (!isFile(event)) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = "copy";
      show(true);
    });
    document.addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) show(false);
    });
    document.addEventListener("drop", (event) => {
      show(false);
      if (!isFile(event)) return;
      event.preventDefault();
      this.#box.focus();
      this.add([...event.dataTransfer.files]);
    });
  }

  #pasted(event) {
    const words = event.clipboardData.getData("text/plain");
    const files = [...event.clipboardData.files];
    // Spreadsheets and editors put a picture of their text beside it.
    const isCopy = words.trim() && files.every((file) => file.type.startsWith("image/"));
    if (files.length && !isCopy) {
      event.preventDefault();
      this.add(files);
    } else if (words.length > LONG_PASTE) {
      event.preventDefault();
      this.add([new File([words], text("pasted"), { type: "text/plain" })]);
    }
  }

  /** Return the chip of what the server keeps now, "" where it was refused. */
  async #upload(file) {
    const body = new FormData();
    try {
      // A folder has no bytes, and what was moved meanwhile has none any more.
      await file.slice(0, 1).arrayBuffer();
      body.append("file", await fitted(file), file.name);
    } catch {
      toast(text("unreadable", { name: file.name }), "error");
      return "";
    }
    body.append("conversation", this.#list.dataset.conversation ?? "");
    return orSay(fetchText(`${this.#address}new/`, { method: "POST", body, headers }));
  }

  async #clicked(target) {
    const button = target.closest("button");
    const chip = button?.closest("[data-attachment]");
    if (!chip) return;
    if (button.dataset.unfold && !(await this.#unfold(button.dataset.unfold))) return;
    const next = chip.nextElementSibling ?? chip.previousElementSibling;
    chip.remove();
    (button.dataset.unfold ? this.#box : (next?.querySelector("[data-remove]") ?? this.#box)).focus();
    this.#say("removed", chip.querySelector(".chip-name").textContent);
    this.#onChange();
    // Where that fails, the server forgets it by itself.
    const { remove } = chip.querySelector("[data-remove]").dataset;
    fetch(remove, { method: "POST", headers }).catch(() => {});
  }

  /** Put a file's text where the caret is; false where it could not be read. */
  async #unfold(address) {
    const words = await orSay(fetchText(address));
    if (words === undefined) return false;
    this.#box.setRangeText(words, this.#box.selectionStart, this.#box.selectionEnd, "end");
    this.#box.dispatchEvent(new Event("input", { bubbles: true }));
    return true;
  }

  #say(what, name) {
    this.#said.textContent = text(what, { name });
  }
}
