// Copying: messages, code, details. The button itself says that it worked.
import { make } from "./elements.js";
import { fetchText, sourceOf } from "./source.js";
import { text } from "./text.js";
import { toast } from "./toast.js";

const SHOWN = 1600;

async function write(given) {
  const words = await given;
  if (navigator.clipboard) return navigator.clipboard.writeText(words);
  // Plain http on another machine has no clipboard; the old way still works there.
  const area = make("textarea", { value: words });
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const worked = document.execCommand("copy");
  area.remove();
  if (!worked) throw new Error("refused");
}

async function copy(words, button) {
  try {
    await write(words);
  } catch {
    toast(text("copyFailed"), "error");
    return;
  } finally {
    button.focus({ preventScroll: true });
  }
  const label = [...button.childNodes].find((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  if (!label || button.dataset.copied !== undefined) return;
  const before = label.textContent;
  button.dataset.copied = "";
  label.textContent = text("copied");
  setTimeout(() => {
    label.textContent = before;
    delete button.dataset.copied;
  }, SHOWN);
}

function wordsFor(button) {
  const row = button.closest("article");
  if (button.matches("[data-copy]")) return sourceOf(row);
  if (button.matches("[data-copy-address]")) return fetchText(button.dataset.copyAddress);
  if (button.matches("[data-copy-details]")) return row.querySelector("[data-details]").textContent;
  if (button.matches("[data-copy-code]")) return button.closest(".code-block").querySelector("pre").textContent;
  if (button.matches("[data-copy-from]")) {
    const shown = button.previousElementSibling;
    return shown.value ?? shown.textContent;
  }
  return null;
}

export function startCopying() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    const words = button ? wordsFor(button) : null;
    if (words !== null) copy(words, button);
  });
}
