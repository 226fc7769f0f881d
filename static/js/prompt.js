// A prompt of one's own: back to the default, and what differs from it line by line.
import { make } from "./elements.js";
import { text } from "./text.js";

/** Lengths of the longest common subsequence of every pair of line suffixes. */
function common(old, fresh) {
  const table = Array.from({ length: old.length + 1 }, () => new Uint16Array(fresh.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = fresh.length - 1; j >= 0; j--) {
      table[i][j] = old[i] === fresh[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}

function compare(old, fresh) {
  const table = common(old, fresh);
  const lines = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      lines.push(["p", old[i++]]);
      j++;
    } else if (i < old.length && (j === fresh.length || table[i + 1][j] >= table[i][j + 1])) {
      lines.push(["del", old[i++]]);
    } else {
      lines.push(["ins", fresh[j++]]);
    }
  }
  return lines;
}

function showDiff(view, original, words) {
  const lines = compare(original.split("\n"), words.trim().split("\n"));
  if (lines.every(([tag]) => tag === "p")) {
    view.textContent = text("noChanges");
    return;
  }
  const sign = { p: "  ", del: "− ", ins: "+ " };
  view.replaceChildren(...lines.map(([tag, words]) => make(tag, {}, sign[tag] + words)));
}

function watch(part) {
  const area = part.querySelector("textarea");
  const original = part.querySelector("[data-default-prompt]").textContent.trim();
  const show = () => showDiff(part.querySelector("[data-diff]"), original, area.value);
  part.querySelector("[data-reset-prompt]").addEventListener("click", () => {
    area.value = original;
    area.dispatchEvent(new Event("input", { bubbles: true }));
    area.focus();
  });
  let timer = 0;
  area.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(show, 120);
  });
  show();
}

document.querySelectorAll("[data-prompt]").forEach(watch);
