// Code blocks with a button that copies them; what scrolls sideways is reachable by keyboard.
import { text } from "./text.js";

function addCopy(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button quiet code-copy";
  button.dataset.copyCode = "";
  button.textContent = text("copyCode");
  block.prepend(button);
}

function name(box) {
  const headings = [...box.querySelectorAll("th")].map((cell) => cell.textContent.trim());
  box.role = "group";
  box.ariaLabel = text("table", { headings: headings.filter(Boolean).join(", ") });
}

export function dressCode(root) {
  for (const block of root.querySelectorAll(".prose .code-block:not([data-dressed])")) {
    block.dataset.dressed = "";
    block.querySelector("pre").tabIndex = 0;
    addCopy(block);
  }
  for (const box of root.querySelectorAll(".prose .table-box:not([tabindex])")) {
    box.tabIndex = 0;
    name(box);
  }
  for (const box of root.querySelectorAll(".prose :is(.formula, :not(.formula) > math):not([tabindex])")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
}
