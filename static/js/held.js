// What a reader holds: words that are marked, and what has the focus. Where the page is drawn anew,
// the same is held in what took its place.

/** The elements of a row that are as this one is; in prose, whatever is in them may have grown. */
function alike(row, element) {
  const names = element.closest(".prose") ? ["className"] : ["textContent", "ariaLabel"];
  return [...row.querySelectorAll(element.tagName)].filter((one) => names.every((name) => one[name] === element[name]));
}

/** Where an end of a selection is: after so many characters of a text of a row. */
function endAt(node, offset) {
  const box = (node.closest ? node : node.parentElement)?.closest(".prose, .row");
  if (!box) return () => [node, offset];
  const row = box.closest(".row");
  const at = [...row.querySelectorAll(".prose")].indexOf(box);
  const before = document.createRange();
  before.setStart(box, 0);
  before.setEnd(node, offset);
  let left = before.toString().length;
  return (heirOf) => {
    const now = box.isConnected ? box : (heirOf(row)?.querySelectorAll(".prose")[at] ?? box);
    const texts = document.createTreeWalker(now, NodeFilter.SHOW_TEXT);
    while (texts.nextNode() && texts.currentNode.length < left) left -= texts.currentNode.length;
    return [texts.currentNode, left];
  };
}

function marked(box) {
  const selection = getSelection();
  const { anchorNode, anchorOffset, focusNode, focusOffset } = selection;
  if (selection.isCollapsed || !(box.contains(anchorNode) || box.contains(focusNode))) return () => {};
  const words = String(selection);
  const [from, to] = [endAt(anchorNode, anchorOffset), endAt(focusNode, focusOffset)];
  return (heirOf) => {
    if (String(selection) === words) return;
    const ends = [from(heirOf), to(heirOf)];
    const areThere = ends.every(([node, offset]) => offset <= (node.length ?? node.childNodes.length));
    if (areThere) selection.setBaseAndExtent(...ends.flat());
    if (String(selection) !== words) selection.removeAllRanges();
  };
}

function focused(box) {
  const element = document.activeElement;
  const row = box.contains(element) && element.closest(".row");
  if (!row) return () => {};
  const at = alike(row, element).indexOf(element);
  return (heirOf) => {
    const known = row.isConnected ? row : heirOf(row);
    if (!element.isConnected && known) alike(known, element)[at]?.focus({ preventScroll: true });
  };
}

/** Remember what is held in a box; what is returned holds it again, with the heir of a row, if any. */
export function hold(box) {
  const again = [marked(box), focused(box)];
  return (heir) => again.forEach((one) => one((row) => document.getElementById(row.id) ?? heir));
}
