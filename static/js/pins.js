// What is selected of a message's text can be pinned: a button below the selection, while there is one.
const button = document.getElementById("pin-selection");
const scroller = document.getElementById("scroller");
const GAP = 6; // pixels

/** The message within which all of the selection lies, null without one. */
function selectedIn(selection) {
  const [start, end] = [selection.anchorNode, selection.focusNode].map((node) =>
    (node?.parentElement ?? node)?.closest?.("#transcript .message[data-text] .message-body"),
  );
  const isText = !selection.isCollapsed && selection.toString().trim();
  return start && start === end && isText ? start.closest(".message") : null;
}

function place() {
  const selection = getSelection();
  const message = selectedIn(selection);
  // As with each piece of a text that grows.
  if (!message && button.hidden) return;
  const box = message && selection.getRangeAt(0).getBoundingClientRect();
  const view = scroller.getBoundingClientRect();
  button.hidden = !box || box.bottom < view.top || box.top > view.bottom;
  if (button.hidden) return;
  const { offsetWidth: width, offsetHeight: height } = button;
  const below = Math.min(box.bottom + GAP, innerHeight - height - GAP);
  button.style.top = `${Math.max(GAP, below)}px`;
  button.style.left = `${Math.max(GAP, Math.min(box.right - width, innerWidth - width - GAP))}px`;
}

function pin() {
  const selection = getSelection();
  const message = selectedIn(selection);
  if (!message) return;
  const selected = selection.toString();
  selection.removeAllRanges();
  const address = new URL("../pin/", new URL(message.dataset.text, location));
  window.htmx.ajax("POST", address.pathname, { source: message, values: { selected }, swap: "none" });
}

export function startPinning() {
  document.addEventListener("selectionchange", () => requestAnimationFrame(place));
  scroller.addEventListener("scroll", place, { passive: true });
  window.addEventListener("resize", place);
  // The selection stays where it is.
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("click", pin);
}
