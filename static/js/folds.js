// Groups of messages that the model no longer sees: one line above each, which collapses them.
import { foldCalls, openCalls } from "./calls.js";
import { session } from "./storage.js";
import { text } from "./text.js";

function isCollapsed(name) {
  return session.get(`collapsed-${name}`) === "yes";
}

/** Rows by what hides them; what happened between two of them is no row of theirs. */
function groups(root) {
  const found = new Map();
  for (const row of root.querySelectorAll(":scope > [data-hidden-by]")) {
    const by = row.dataset.hiddenBy;
    found.set(by, [...(found.get(by) ?? []), row]);
  }
  return [...found].map(([by, rows]) => ({ by, rows }));
}

function makeLine({ by, rows }, collapsed) {
  const line = document.createElement("div");
  line.className = "margin-line";
  const words = document.createElement("span");
  words.textContent = rows[0].dataset.words;
  words.title = rows[0].dataset.reason;
  const link = document.createElement("a");
  link.href = `?at=${rows[0].dataset.hiddenAt}#${by}`;
  link.textContent = rows[0].dataset.reason;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button quiet";
  button.textContent = text(collapsed ? "showGroup" : "hideGroup");
  button.setAttribute("aria-expanded", String(!collapsed));
  button.addEventListener("click", () => {
    session.set(`collapsed-${by}`, collapsed ? null : "yes");
    drawFolds(line.parentElement);
    document.querySelector(`.margin-line[data-of="${by}"] button`)?.focus();
  });
  line.dataset.of = by;
  line.append(words, link, button);
  return line;
}

/** Draw all lines anew; a collapsed row is still found by the browser's search. */
export function drawFolds(root) {
  for (const line of root.querySelectorAll(":scope > .margin-line")) line.remove();
  for (const group of groups(root)) {
    const collapsed = isCollapsed(group.by);
    for (const row of group.rows) {
      if (collapsed) row.setAttribute("hidden", "until-found");
      else row.removeAttribute("hidden");
    }
    group.rows[0].before(makeLine(group, collapsed));
  }
  foldCalls(root);
}

/** Open what an element of the transcript is folded into, before it is shown. */
export function reveal(element) {
  const root = element?.closest("#transcript");
  const by = element?.closest("#transcript > .row")?.dataset.hiddenBy;
  if (by && isCollapsed(by)) {
    session.set(`collapsed-${by}`, null);
    drawFolds(root);
  }
  if (root) openCalls(element, root);
}

document.addEventListener("beforematch", (event) => reveal(event.target), true);
