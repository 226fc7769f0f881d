// Groups of messages that the model no longer sees: one line above each, which collapses them.
import { foldCalls, openCalls } from "./calls.js";
import { loadRecords, make, makeButton } from "./elements.js";
import { session } from "./storage.js";
import { locale, text } from "./text.js";
import { toast } from "./toast.js";

function isCollapsed(name) {
  return session.get(`collapsed-${name}`) !== null;
}

function makeLine(by, { words, reason, hiddenAt }, collapsed) {
  const button = makeButton("button quiet", text(collapsed ? "showGroup" : "hideGroup"), () => {
    session.set(`collapsed-${by}`, collapsed ? null : "yes");
    drawFolds(line.parentElement);
    document.querySelector(`.margin-line[data-of="${by}"] button`)?.focus();
  });
  button.ariaExpanded = !collapsed;
  const said = make("span", { title: reason }, words);
  const line = make("div", { className: "margin-line" }, said, make("a", { href: `?at=${hiddenAt}#${by}` }, reason), button);
  line.dataset.of = by;
  return line;
}

/** Draw all lines anew; a collapsed row is still found by the browser's search. */
export function drawFolds(root) {
  for (const line of root.querySelectorAll(":scope > .margin-line")) line.remove();
  const hidden = root.querySelectorAll(":scope > [data-hidden-by]");
  // What happened between two rows of a group is no row of it.
  for (const [by, rows] of Map.groupBy(hidden, (row) => row.dataset.hiddenBy)) {
    const collapsed = isCollapsed(by);
    for (const row of rows) row.hidden = collapsed && "until-found";
    rows[0].before(makeLine(by, rows[0].dataset, collapsed));
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

/** The button that opens what stands below it says whether that is open, however it came to be. */
function showOpen(details) {
  const button = details.parentElement.querySelector("[data-view]");
  if (button) button.ariaExpanded = details.open;
  details.parentElement.classList.toggle("is-opened", details.open);
}

document.addEventListener(
  "toggle",
  ({ target }) => {
    if (target.matches?.(".milestone-more")) loadRecords();
    if (target.matches?.(".milestone-view")) showOpen(target);
  },
  true,
);

/** Open or close a fold's view, or the ways to undo it; what opens is brought into view. */
export function startViews(scroll) {
  document.body.addEventListener("htmx:afterSwap", async ({ detail: { target } }) => {
    if (!target.matches("dialog.ways")) return;
    await loadRecords();
    // What has the focus in it is scrolled to, so what was clicked is let go.
    scroll.read();
    target.show();
    scroll.bring(target);
  });
  document.addEventListener("click", async ({ target }) => {
    const row = target.closest("[data-view], .milestone-head")?.closest(".row");
    const view = row?.querySelector(".milestone-view");
    if (!view) return;
    await loadRecords();
    view.open = !view.open;
    if (view.open) scroll.bring(row);
  });
}

/** The running sum of what is chosen to be put back; more than there is room for can't be. */
document.addEventListener("change", ({ target }) => {
  const form = target.closest("[data-room]");
  if (!form) return;
  const sum = [...form.querySelectorAll(":checked")].reduce((all, one) => all + Number(one.dataset.tokens), 0);
  form.querySelector("output").textContent = sum.toLocaleString(locale);
  form.querySelector(".ways-sum").classList.toggle("is-over", sum > Number(form.dataset.room));
  form.querySelector("button").disabled = !sum || sum > Number(form.dataset.room);
});

const BY_YOU = "#transcript > [data-by-you]";

/** The folds of condensations by hand that are here. */
export function foldsByYou() {
  return [...document.querySelectorAll(BY_YOU)].map((row) => row.id);
}

/** Bring the fold of a condensation that was asked for here into view, and offer to undo it. */
export function showMade(row, scroll) {
  scroll.bring(row);
  const tokens = row.querySelector(".milestone-tokens").textContent.trim();
  const act = () => document.querySelector(`#${row.id} [data-undo]`)?.click();
  toast(text("condensed", { tokens }), "info", { words: text("undo"), act });
}

const TOUR = "#transcript > [data-tour]";
let toured = document.querySelector(TOUR) !== null;

/** Bring the fold of the tour into view, once and where somebody watched how it was made. */
export function showTour(scroll) {
  const row = toured ? null : document.querySelector(TOUR);
  if (row && scroll.isFollowing) scroll.bring(row);
  toured ||= row !== null;
}

document.addEventListener("beforematch", (event) => reveal(event.target), true);
