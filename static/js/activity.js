// Signs of activity: the mark of what waits for a person, the output of a tool that runs, its seconds.
import { make } from "./elements.js";
import { serverNow } from "./panel.js";
import { text } from "./text.js";

const MARK = "● ";
const SECOND = 1000;

const ENDING = " · Palimpsest";

let waits = false;
let name = document.title.replace(ENDING, "");

/** Mark the tab and its line in the list while a person has to say something. */
export function showWaiting(now) {
  waits = Boolean(now);
  nameTab();
  markLine();
}

function nameTab() {
  document.title = `${waits ? MARK : ""}${name}${ENDING}`;
}

/** Return the conversation's name as the tab has it. */
export function nameOfTab() {
  return name;
}

/** A conversation is named after its first message, may be after its reply, and by a person. */
export async function refreshTitle() {
  const heading = document.getElementById("title");
  // More news may come before the answer.
  delete heading.dataset.untitled;
  await window.htmx.ajax("GET", heading.getAttribute("hx-get"), { target: "#title", swap: "outerHTML" });
  window.htmx.trigger(document.body, "list-changed");
  name = document.getElementById("title").textContent;
  nameTab();
}

/** A list that was asked for before, or after, shows how things are now. */
function markLine() {
  const line = document.querySelector(".conversation.is-current a");
  const mark = line?.querySelector(".waiting-mark");
  const words = text("waits");
  if (waits && line && !mark) line.append(make("span", { className: "waiting-mark", role: "img", ariaLabel: words, title: words }));
  if (!waits) mark?.remove();
}

/** Show the end of what a tool has put out so far. */
export function showOutput({ card, output }) {
  const place = document.getElementById(card)?.querySelector("[data-output]");
  if (!place) return;
  place.hidden = false;
  place.textContent = output;
  place.scrollTop = place.scrollHeight;
}

/** Show of what runs how many seconds it has. */
export function tick() {
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
