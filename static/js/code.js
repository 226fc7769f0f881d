// Code blocks: reachable by keyboard, with a button that copies them.
import { text } from "./text.js";

export function dressCode(root) {
  for (const block of root.querySelectorAll(".prose .code-block:not([data-dressed])")) {
    block.dataset.dressed = "";
    block.querySelector("pre").tabIndex = 0;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button code-copy";
    button.dataset.copyCode = "";
    button.textContent = text("copyCode");
    block.append(button);
  }
  for (const table of root.querySelectorAll(".prose table")) table.tabIndex = 0;
}
