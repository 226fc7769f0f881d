// Places in the transcript: what is not on the page is fetched with the rows around it.
import { reveal } from "./folds.js";
import { text } from "./text.js";
import { toast } from "./toast.js";

export class Places {
  #transcript;
  #scroll;

  constructor(transcript, scroll) {
    this.#transcript = transcript;
    this.#scroll = scroll;
  }

  /** Show the row of this id, or the one at this cut; return it, or null where there is neither. */
  async go(id, at) {
    try {
      if (at && !document.getElementById(id) && !this.#transcript.covers(at)) await this.#transcript.showAround(at);
    } catch {
      toast(text("unreachable"), "error");
    }
    const row = document.getElementById(id) ?? (at ? this.#transcript.rowAt(at) : null);
    if (row) this.#show(row);
    return row;
  }

  #show(row) {
    reveal(row);
    for (let around = row.closest(".rewound"); around; around = around.parentElement.closest(".rewound")) {
      around.closest("details").open = true;
    }
    row.setAttribute("tabindex", "-1");
    row.focus({ preventScroll: true });
    this.#scroll.show(row);
  }
}
