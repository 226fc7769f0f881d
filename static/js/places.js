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

  /**
   * Show the row of this id, or the one at this cut, and return it; null where there is neither.
   * It takes the focus, unless whoever asked has to keep it.
   */
  async go(id, at, { focus = true } = {}) {
    try {
      if (at && !document.getElementById(id) && !this.#transcript.covers(at)) await this.#transcript.showAround(at);
    } catch {
      toast(text("unreachable"), "error");
    }
    const row = document.getElementById(id) ?? (at ? this.#transcript.rowAt(at) : null);
    if (row) this.#show(row);
    if (row && focus) row.focus({ preventScroll: true });
    return row;
  }

  #show(row) {
    reveal(row);
    for (let around = row.closest(".rewound"); around; around = around.parentElement.closest(".rewound")) {
      around.closest("details").open = true;
    }
    row.setAttribute("tabindex", "-1");
    this.#scroll.show(row);
  }
}
