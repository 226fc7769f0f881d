// A list above a text box that completes what is being typed; the box keeps the focus.
import { make } from "./elements.js";
import { text } from "./text.js";

const PAUSE = 80; // milliseconds without a key before the server is asked

function option({ label: name, hint, about, preview }, index) {
  const parts = Object.entries({ name, hint, about, preview }).filter(([, words]) => words);
  const spans = parts.map(([part, words]) => make("span", { className: `suggestion-${part}` }, words));
  return make("li", { id: `suggestion-${index}`, role: "option" }, ...spans);
}

export class Suggestions {
  #box = document.getElementById("message");
  #list = document.getElementById("suggestions");
  #news = document.getElementById("suggestions-news");
  #sources;
  #found = [];
  #at = 0;
  // Where in the text the word begins that is completed, how often somebody has typed, and how often
  // when what the list completes was written.
  #start = 0;
  #typed = 0;
  #shown;
  #waiting = 0;

  /** A source has `match`, which tells the word it completes, and `find`, which completes it. */
  constructor(sources) {
    this.#sources = sources;
    this.#box.addEventListener("input", () => this.#look());
    this.#box.addEventListener("keydown", (event) => this.#pressed(event), { capture: true });
    for (const event of ["blur", "click"]) this.#box.addEventListener(event, () => this.close());
    // The box keeps the focus.
    this.#list.addEventListener("pointerdown", (event) => event.preventDefault());
    this.#list.addEventListener("click", ({ target }) => {
      const chosen = [...this.#list.children].indexOf(target.closest("[role=option]"));
      if (chosen >= 0) this.#take(chosen);
    });
  }

  get isOpen() {
    return !this.#list.hidden;
  }

  close() {
    this.#typed += 1;
    clearTimeout(this.#waiting);
    this.#list.hidden = true;
    this.#list.replaceChildren();
    this.#box.removeAttribute("aria-activedescendant");
    this.#news.textContent = "";
  }

  #look() {
    this.#typed += 1;
    clearTimeout(this.#waiting);
    const before = this.#box.value.slice(0, this.#box.selectionStart);
    for (const source of this.#sources) {
      const word = source.match(before);
      if (word !== null) {
        const wait = source.isQuick ? 0 : PAUSE;
        this.#waiting = setTimeout(() => this.#ask(source, word, this.#typed), wait);
        return;
      }
    }
    this.close();
  }

  async #ask(source, word, typed) {
    let found = [];
    try {
      found = await source.find(word);
    } catch {
      // Without the server there is nothing to suggest; the text can be written all the same.
    }
    if (typed !== this.#typed) return;
    if (found.length === 0) this.close();
    // A sign stands before the word.
    else this.#show(found, this.#box.selectionStart - word.length - 1);
  }

  #show(found, start) {
    const isNews = !this.isOpen || found.length !== this.#found.length;
    this.#found = found;
    this.#start = start;
    this.#shown = this.#typed;
    this.#list.replaceChildren(...found.map(option));
    this.#list.hidden = false;
    if (isNews) this.#news.textContent = text("suggested", { count: found.length });
    this.#select(0);
  }

  #select(index) {
    this.#at = (index + this.#found.length) % this.#found.length;
    for (const [place, one] of [...this.#list.children].entries()) {
      one.ariaSelected = place === this.#at;
    }
    const chosen = this.#list.children[this.#at];
    chosen.scrollIntoView({ block: "nearest" });
    this.#box.setAttribute("aria-activedescendant", chosen.id);
  }

  #take(index) {
    const { insert, back = 0 } = this.#found[index];
    const box = this.#box;
    const isQuoted = box.value[this.#start + 1] === '"' && box.value[box.selectionStart] === '"';
    box.setRangeText(insert, this.#start, box.selectionStart + Number(isQuoted), "end");
    box.setSelectionRange(box.selectionStart - back, box.selectionStart - back);
    this.close();
    this.#box.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #pressed(event) {
    // The list may be closed, or one for what was written before; it comes too late for what is sent.
    if (this.#shown !== this.#typed) {
      if (event.key === "Enter") this.close();
    } else if (!event.ctrlKey && !event.altKey && !event.metaKey && this.#answers(event)) {
      event.preventDefault();
      event.stopImmediatePropagation();
    }
  }

  /** Do what a key means for the list; false where it means nothing to it. */
  #answers({ key, shiftKey }) {
    const typed = this.#box.value.slice(this.#start, this.#box.selectionStart);
    if (key === "ArrowDown") this.#select(this.#at + 1);
    else if (key === "ArrowUp") this.#select(this.#at - 1);
    else if (key === "Escape") this.close();
    else if (shiftKey || !["Tab", "Enter"].includes(key)) {
      if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(key)) this.close();
      return false;
    } else if (key === "Enter" && typed === this.#found[this.#at].insert.trim()) {
      // What is written out already is sent.
      this.close();
      return false;
    } else this.#take(this.#at);
    return true;
  }
}
