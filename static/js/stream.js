// A reply that is being written: its final blocks, and the one that still grows.
// Their elements lie side by side, as in the finished row, so that nothing moves when it comes.

import { growLength } from "./code.js";
import { make, parse } from "./elements.js";

// Characters: what stands in one piece of code is laid out anew as it grows, and no more than that.
const PIECE = 2000;
// What may scroll sideways.
const BOXES = ".table-box, .formula, math, pre";

// Element -> its blocks, each a list of nodes, whether the last one is still open, and how much of
// that is there if it is code.
const streams = new WeakMap();

function isSame(old, fresh) {
  if (old?.nodeName !== fresh.nodeName || old.attributes?.length !== fresh.attributes?.length) return false;
  return [...(old.attributes ?? [])].every(({ name, value }) => fresh.getAttribute(name) === value);
}

/** Have `olds`, the last nodes of `parent`, become `fresh`, and return these; what only grew stays as it is. */
function become(parent, olds, fresh) {
  for (const one of olds.slice(fresh.length)) one.remove();
  return fresh.map((one, at) => {
    const old = olds[at];
    if (!isSame(old, one)) {
      if (old) old.replaceWith(one);
      else parent.append(one);
      return one;
    }
    if (!old.data) become(old, [...old.childNodes], [...one.childNodes]);
    else if (one.data.startsWith(old.data)) old.appendData(one.data.slice(old.length));
    else old.data = one.data;
    return old;
  });
}

function boxesIn(nodes) {
  const elements = nodes.filter((node) => node.nodeType === Node.ELEMENT_NODE);
  return elements.flatMap((one) => [...(one.matches(BOXES) ? [one] : []), ...one.querySelectorAll(BOXES)]);
}

/**
 * Show the blocks from `index` on: final ones, and the one that is open, if any; return the elements
 * of the final ones. `dress` finishes them; then a box that came anew, as a table does with each cell, is where the reader had it.
 */
export function showBlocks(target, { index, closed, open }, dress) {
  const { blocks } = streams.get(target) ?? { blocks: [] };
  const gone = blocks.splice(index).flat();
  const isWhole = (box) => Boolean(box.closest(".code-block.is-whole"));
  const places = boxesIn(gone).map((box) => [box.scrollLeft, isWhole(box)]);
  const made = [...closed, ...(open ? [open] : [])].map((html) => [...parse(html).childNodes]);
  const nodes = become(target, gone, made.flat());
  for (const { length } of made) blocks.push(nodes.splice(0, length));
  const done = blocks.slice(index, index + closed.length).flat().filter((node) => node.nodeType === Node.ELEMENT_NODE);
  streams.set(target, { blocks, isOpen: Boolean(open) });
  dress();
  for (const [at, box] of boxesIn(blocks.slice(index).flat()).entries()) {
    const [left, whole] = places[at] ?? [];
    if (whole) box.closest(".code-block")?.classList.add("is-whole");
    if (left) box.scrollLeft = left;
  }
  return done;
}

/** Let the open block, which is code, grow without reading anew what it has. */
export function growCode(target, { index, at, text }) {
  const stream = streams.get(target);
  const isLast = stream?.isOpen && index === stream.blocks.length - 1;
  const [code] = isLast ? stream.blocks[index].flatMap((node) => node.querySelector?.("pre code") ?? []) : [];
  if (!code) return;
  stream.size ??= code.textContent.length;
  // A page that came later may have some of it.
  const added = stream.size < at ? "" : text.slice(stream.size - at);
  stream.size += added.length;
  if (!added) return;
  addPiece(code, added);
  growLength(code.closest(".code-block"), added);
}

/** Add text to the last piece of code; a piece that is long enough ends with its last whole line. */
function addPiece(code, text) {
  let last = code.lastChild;
  if (last?.nodeType !== Node.ELEMENT_NODE) {
    last = make("span", { className: "code-piece" }, ...code.childNodes);
    code.append(last);
  }
  last.append(text);
  last.normalize();
  const words = last.firstChild;
  const end = words.length > PIECE ? words.data.lastIndexOf("\n") + 1 : 0;
  if (!end || end === words.length) return;
  const next = last.cloneNode();
  next.append(words.splitText(end));
  last.after(next);
}
