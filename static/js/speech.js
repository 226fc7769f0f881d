// What a screen reader is told: the paragraphs of an answer as they are finished, and questions.
import { make } from "./elements.js";
import { text } from "./text.js";

// Milliseconds after which words are taken back: they were heard, and stand on the page already.
const HEARD = 1500;

/** Have words read out when nothing else is. */
export function say(words) {
  const line = make("p", {}, words);
  document.getElementById("heard").append(line);
  setTimeout(() => line.remove(), HEARD);
}

/** What is read of a paragraph, a list, a table or code; nobody listens to code by characters. */
function wordsOf(block) {
  if (block.matches(".code-block")) return text("code", { name: block.querySelector(".code-bar span").textContent });
  return block.matches(".table-box") ? block.ariaLabel : block.textContent;
}

/** Reads out the answer that is being written, each paragraph once, and none that was there before. */
export class Speech {
  // Part of the answer -> how many of its blocks were read; null while none is written here.
  #read = null;

  begin() {
    this.#read = new Map();
  }

  /** Take the final blocks that came into a part; those of a new part may be older than the page. */
  add(part, blocks, isOld) {
    if (!this.#read || !blocks.length || part.closest("details")) return;
    const first = [...part.children].indexOf(blocks[0]);
    const isKnown = this.#read.has(part);
    const before = this.#read.get(part) ?? 0;
    this.#read.set(part, Math.max(before, first + blocks.length));
    if (isKnown || !isOld) this.#say(blocks.slice(Math.max(0, before - first)));
  }

  /** Read what is left of the answer, whose row this is. */
  end(row) {
    const count = [...(this.#read?.values() ?? [])].reduce((sum, one) => sum + one, 0);
    if (this.#read) this.#say([...row.querySelectorAll(".message-body > .prose > *")].slice(count));
    this.#read = null;
  }

  #say(blocks) {
    for (const block of blocks) say(wordsOf(block));
  }
}
