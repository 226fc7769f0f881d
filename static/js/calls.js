// Consecutive tool calls that are done: one line that says what they did, and opens to their cards.
import { make, makeButton } from "./elements.js";
import { hasText, text } from "./text.js";

const KILO = 1000;

// Ids of the first cards of runs that were opened here.
const opened = new Set();

function isCall(part) {
  return part.matches(".tool");
}

/** Lists of parts that follow each other on the page; what runs, failed or speaks ends a run. */
function runs(root) {
  const found = [[]];
  let by;
  for (const row of root.querySelectorAll(":scope > .row")) {
    const parts = row.matches(".message-assistant") ? [...row.querySelector(".message-body").children] : [];
    if (!parts.length || row.dataset.hiddenBy !== by) found.push([]);
    by = row.dataset.hiddenBy;
    for (const part of parts) {
      if (part.matches(".tool-done, .note")) found.at(-1).push(part);
      else found.push([]);
    }
    if (!row.matches(".is-step")) found.push([]);
  }
  // Notes after the last call are no part of it.
  return found.map((run) => run.slice(0, run.findLastIndex(isCall) + 1)).filter((run) => run.filter(isCall).length > 1);
}

/** "Read 6 files · Searched once · 35.2 k characters" */
function describe(calls) {
  const byTool = Map.groupBy(calls, (call) => call.dataset.tool);
  const size = calls.reduce((sum, call) => sum + Number(call.dataset.size), 0);
  return [...[...byTool].map(tally), characters(size)].join(" · ");
}

function tally([name, calls]) {
  const own = `tally.${name}`;
  const things = new Set(calls.map((call) => call.querySelector(".tool-argument").textContent));
  return hasText(own) ? text(own, { count: things.size }) : text("tally", { count: calls.length, name });
}

function characters(count) {
  if (count < KILO) return text("characters", { count });
  return text("thousands", { count: Math.round((10 * count) / KILO) / 10 });
}

function makeLine(run, root) {
  const calls = run.filter(isCall);
  const { id } = calls[0];
  const line = makeButton("calls-line", "", () => {
    if (!opened.delete(id)) opened.add(id);
    foldCalls(root);
    root.querySelector(`.calls-line[data-of="${CSS.escape(id)}"]`)?.focus({ preventScroll: true });
  });
  line.dataset.of = id;
  line.ariaExpanded = opened.has(id);
  line.append(calls[0].querySelector(".icon").cloneNode(true), make("span", {}, describe(calls)));
  return line;
}

/** Hide an element so that the browser's search still finds it. */
function fold(element, id) {
  if (element.hidden) return;
  element.hidden = "until-found";
  element.dataset.folded = id;
}

function foldRun(run, root) {
  // What somebody has opened is not folded away.
  if (run.some((part) => part.open)) opened.add(run.find(isCall).id);
  const line = makeLine(run, root);
  run[0].before(line);
  if (opened.has(line.dataset.of)) return;
  for (const [row, parts] of Map.groupBy(run, (part) => part.closest(".row"))) {
    const isWhole = row.querySelector(".message-body").children.length === parts.length;
    for (const element of isWhole ? [row] : parts) fold(element, line.dataset.of);
  }
}

/** Draw the lines anew. */
export function foldCalls(root) {
  for (const line of root.querySelectorAll(".calls-line")) line.remove();
  for (const element of root.querySelectorAll("[data-folded]")) {
    element.hidden = false;
    delete element.dataset.folded;
  }
  for (const run of runs(root)) foldRun(run, root);
  // What a fold hid is listed in its row.
  for (const list of root.querySelectorAll(".originals")) foldCalls(list);
}

/** Open the run that an element is folded into. */
export function openCalls(element, root) {
  const folded = element.closest("[data-folded]");
  if (!folded) return;
  opened.add(folded.dataset.folded);
  foldCalls(root);
}
