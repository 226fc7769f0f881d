// Signs of activity: the mark of what waits for a person, the output of a tool that runs, its seconds.
import { serverNow } from "./panel.js";
import { text } from "./text.js";

const MARK = "● ";
const SECOND = 1000;

let waits = false;

/** Mark the tab and its line in the list while a person has to say something. */
export function showWaiting(now) {
  waits = Boolean(now);
  document.title = `${waits ? MARK : ""}${withoutMark()}`;
  markLine();
}

function withoutMark() {
  return document.title.startsWith(MARK) ? document.title.slice(MARK.length) : document.title;
}

/** Return the conversation's name as the tab has it. */
export function nameOfTab() {
  return withoutMark().replace(/ · Palimpsest$/, "");
}

/** Give the tab a name, which may come after the mark. */
export function nameTab(name) {
  document.title = `${waits ? MARK : ""}${name} · Palimpsest`;
}

/** A list that was asked for before, or after, shows how things are now. */
function markLine() {
  const line = document.querySelector(".conversation.is-current a");
  const mark = line?.querySelector(".waiting-mark");
  if (waits && line && !mark) line.append(makeMark());
  if (!waits) mark?.remove();
}

function makeMark() {
  const mark = document.createElement("span");
  mark.className = "waiting-mark";
  mark.role = "img";
  mark.ariaLabel = mark.title = text("waits");
  return mark;
}

/** Show the end of what a tool has put out so far. */
export function showOutput({ card, output }) {
  const place = document.getElementById(card)?.querySelector("[data-output]");
  if (!place) return;
  place.hidden = false;
  place.textContent = output;
  place.scrollTop = place.scrollHeight;
}

function tick() {
  for (const clock of document.querySelectorAll("[data-running-since]")) {
    const seconds = Math.max(0, Math.round(serverNow() - Number(clock.dataset.runningSince)));
    clock.textContent = text("elapsed", { seconds });
  }
}

export function startActivity() {
  setInterval(tick, SECOND);
  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target.id === "conversation-list") markLine();
  });
}
