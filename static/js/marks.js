// Marking what was searched for in a row, without touching its elements.
import { reveal } from "./folds.js";

const NAME = "found";
const WORDS = ".message-body, .milestone";
const ASIDE = ".milestone-head, .milestone-actions, .tabs, .calls-line, .code-bar, button";
// Letters from here on carry no accents that could be taken off them.
const LAST_ACCENTED = 0x1100;

/** Return a text of the same length without capitals and accents. */
function fold(words) {
  if (!/[^\x00-\x7f]/.test(words)) return words.toLowerCase();
  const lower = (unit) => (unit.charCodeAt(0) < LAST_ACCENTED ? unit.normalize("NFD")[0].toLowerCase()[0] : unit);
  return [...Array(words.length).keys()].map((place) => lower(words[place])).join("");
}

function textNodes(row) {
  const take = (node) => {
    const element = node.parentElement;
    return element.closest(WORDS) && !element.closest(ASIDE) ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_REJECT;
  };
  const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT, take);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  return nodes;
}

/** Every place in a row that an expression matches, as a range. */
function rangesOf(row, pattern) {
  const nodes = textNodes(row);
  const starts = [];
  let length = 0;
  for (const node of nodes) {
    starts.push(length);
    // What stands in two elements is two words.
    length += node.length + 1;
  }
  const range = ({ index, 0: { length: size } }) => {
    const made = document.createRange();
    for (const [place, set] of [[index, "setStart"], [index + size, "setEnd"]]) {
      const number = starts.findLastIndex((start) => start <= place);
      made[set](nodes[number], Math.min(place - starts[number], nodes[number].length));
    }
    return made;
  };
  const words = fold(nodes.map((node) => node.data).join("\n"));
  return [...words.matchAll(new RegExp(pattern, "gu"))].filter((match) => match[0]).map(range);
}

/** Open everything that a range is folded into; whether it can be seen then. */
function open(range) {
  const element = range.startContainer.parentElement;
  for (let one = element.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
  const cut = element.closest(".is-cut");
  cut?.classList.remove("is-cut");
  cut?.querySelector("[data-show-all]")?.remove();
  reveal(element);
  return range.getClientRects().length > 0;
}

/** Mark all that an expression matches in a row; return the first of it that can be seen. */
export function mark(row, pattern) {
  const ranges = rangesOf(row, pattern);
  const first = ranges.find(open) ?? null;
  globalThis.CSS.highlights?.set(NAME, new Highlight(...ranges));
  return first;
}

export function unmark() {
  globalThis.CSS.highlights?.delete(NAME);
}
