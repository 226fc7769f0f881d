// Code blocks: reachable by keyboard, with a button that copies them.
import { text } from "./text.js";

export function dressCode(root) {
  for (const block of root.querySelectorAll(".prose pre")) {
    if (block.parentElement.classList.contains("code-block")) continue;
    block.tabIndex = 0;
    const frame = document.createElement("div");
    frame.className = "code-block";
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button code-copy";
    button.dataset.copyCode = "";
    button.textContent = text("copyCode");
    block.replaceWith(frame);
    frame.append(block, button);
  }
  for (const table of root.querySelectorAll(".prose table")) table.tabIndex = 0;
}
