// Code blocks: a bar that stays in view names language and length, and copies; long ones fold.
// What scrolls sideways is reachable by keyboard.
import { make, makeButton } from "./elements.js";
import { inARow, text } from "./text.js";
import { orSay } from "./toast.js";

const LONG = 40;
const DRAWN = ["html", "mermaid", "svg"];
const FORMULAS = ".prose :is(.formula, :not(.formula) > math)";
// Block that grows -> its line breaks.
const lengths = new WeakMap();

/** Have a preview shown or hidden by the script of previews, which loads with the first. */
async function draw(block, isDrawn) {
  await import(document.getElementById("main").dataset.drawing);
  block.dispatchEvent(new CustomEvent("preview", { bubbles: true, detail: isDrawn }));
}

function addBar(block) {
  const copy = makeButton("button quiet code-copy", text("copyCode"));
  copy.dataset.copyCode = "";
  const preview = DRAWN.includes(block.dataset.language) ? [makeButton("button quiet code-preview", text("preview"))] : [];
  block.prepend(make("div", { className: "code-bar" }, make("span", {}, block.dataset.language), ...preview, copy));
}

/** Say how long a block is, where it folds. */
function tellLength(block) {
  const count = Number(block.dataset.lines ?? 0);
  if (!count) return;
  const length = text("lines", { count });
  block.querySelector(".code-bar span").textContent = [block.dataset.language, length].filter(Boolean).join(" · ");
  if (!block.querySelector(".code-all")) {
    const all = makeButton("button quiet code-all", "");
    const fewer = makeButton("button quiet code-fewer", text("showFewer"));
    all.ariaExpanded = "false";
    fewer.ariaExpanded = "true";
    block.querySelector(".code-copy").before(fewer);
    block.append(all);
  }
  block.querySelector(".code-all").textContent = text("showLines", { count });
}

function breaksIn(words) {
  return words.split("\n").length - 1;
}

/** Count the lines of a block that has got `added`; it folds once it is long. */
export function growLength(block, added) {
  const known = lengths.get(block);
  const count = known === undefined ? breaksIn(block.querySelector("pre").textContent) : known + breaksIn(added);
  lengths.set(block, count);
  if (count <= LONG) return;
  block.dataset.lines = count;
  tellLength(block);
}

function toggle(block, isWhole) {
  // Who folds a block from far below its beginning is led back there.
  const isBelow = block.getBoundingClientRect().top < block.querySelector(".code-bar").getBoundingClientRect().top - 2;
  block.classList.toggle("is-whole", isWhole);
  block.querySelector("pre").scrollTop = 0;
  block.querySelector(isWhole ? ".code-fewer" : ".code-all").focus({ preventScroll: true });
  if (isBelow) block.dispatchEvent(new Event("code-folded", { bubbles: true }));
}

/** Open in `fresh` the long blocks that a reader has opened in `old`, and draw those that were drawn. */
export function keepWhole(old, fresh) {
  const blocks = fresh.querySelectorAll(".code-block");
  for (const [at, block] of old.querySelectorAll(".code-block").entries()) {
    for (const kept of ["is-whole", "is-drawn"]) if (block.classList.contains(kept)) blocks[at]?.classList.add(kept);
  }
}

/** Let formulas that are too wide scroll by keyboard, and no others. */
function focusWide(formulas) {
  const widths = [...formulas].map((one) => [one, one.scrollWidth > one.clientWidth]);
  for (const [one, isWide] of widths) {
    one.dataset.dressed = "";
    if (isWide) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
}

export function dressCode(root) {
  for (const block of root.querySelectorAll(".prose .code-block:not([data-dressed])")) {
    block.dataset.dressed = "";
    block.querySelector("pre").tabIndex = 0;
    addBar(block);
    tellLength(block);
    if (block.matches(".is-drawn")) orSay(draw(block, true));
  }
  for (const box of root.querySelectorAll(".prose .table-box:not([tabindex])")) {
    const headings = [...box.querySelectorAll("th")].map((cell) => cell.textContent.trim());
    const ariaLabel = text("table", { headings: inARow(headings.filter(Boolean)) });
    Object.assign(box, { tabIndex: 0, role: "group", ariaLabel });
  }
  focusWide(root.querySelectorAll(`${FORMULAS}:not([data-dressed])`));
  foldWords(root);
}

// What is in a closed disclosure has no height until it opens.
document.addEventListener("toggle", ({ target }) => target.open && foldWords(target), true);

/** Fold a person's words that are long, so that the answer is in view. */
function foldWords(root) {
  const words = root.querySelectorAll(".page .message-user .prose:not([data-dressed])");
  const messages = [...words].filter((one) => one.checkVisibility());
  const tall = messages.filter((one) => one.scrollHeight > one.clientHeight + 2);
  for (const one of messages) one.dataset.dressed = "";
  for (const one of tall) {
    const all = makeButton("button quiet words-all", text("showAll"));
    all.ariaExpanded = "false";
    one.classList.add("is-cut");
    one.after(all);
  }
}

function toggleWords(button) {
  const words = button.previousElementSibling;
  const isCut = words.classList.toggle("is-cut");
  words.classList.toggle("is-whole", !isCut);
  button.ariaExpanded = !isCut;
  button.textContent = text(isCut ? "showAll" : "showFewer");
  if (isCut) button.dispatchEvent(new Event("code-folded", { bubbles: true }));
}

export function startCode() {
  addEventListener("resize", () => focusWide(document.querySelectorAll(FORMULAS)));
  document.addEventListener("click", ({ target }) => {
    const button = target.closest(".code-all, .code-fewer");
    if (button) toggle(button.closest(".code-block"), button.matches(".code-all"));
    else if (target.closest(".words-all")) toggleWords(target.closest(".words-all"));
    const drawn = target.closest(".code-preview")?.closest(".code-block");
    if (drawn) orSay(draw(drawn, !drawn.matches(".is-drawn")));
  });
}
