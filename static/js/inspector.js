// The inspector: what the model sees, saw and cost, in tabs; a column, or a drawer without room.
import { BACK, loadRecords, ONWARD } from "./elements.js";
import { local } from "./storage.js";

const panel = document.getElementById("inspector");
const body = document.getElementById("inspector-body");
const page = document.getElementById("inspector-page");
const name = document.getElementById("inspector-name");
const tabs = [...panel.querySelectorAll("[role=tab]")];
const HISTORY = 1;
const upcoming = panel.dataset.address;
const narrow = matchMedia("(width < 1200px)");

let shown = upcoming;
let opener = null;

function tell() {
  document.body.classList.toggle("is-inspected", !panel.hidden);
  for (const button of document.querySelectorAll("[data-inspector][aria-expanded]")) {
    button.ariaExpanded = !panel.hidden;
  }
}

/** Show what an address has; what was open of the same kind stays open. */
async function load(address) {
  const again = address === shown;
  const open = again ? [...body.querySelectorAll(".seen-card[open]")].map((card) => card.dataset.kind) : [];
  const top = again ? body.scrollTop : 0;
  shown = address;
  page.href = address;
  // What a single call was sent is a part of the history.
  const chosen = tabs.find((tab) => tab.getAttribute("href") === address) ?? tabs[HISTORY];
  for (const tab of tabs) {
    tab.ariaSelected = tab === chosen;
    tab.tabIndex = tab === chosen ? 0 : -1;
  }
  chosen.scrollIntoView({ block: "nearest", inline: "nearest" });
  body.ariaBusy = true;
  await window.htmx.ajax("GET", address, { target: body, swap: "innerHTML" });
  body.ariaBusy = null;
  for (const card of body.querySelectorAll(".seen-card")) card.open = open.includes(card.dataset.kind);
  body.scrollTop = top;
}

async function show(address, from) {
  opener = from ?? opener;
  await loadRecords();
  panel.hidden = false;
  if (!narrow.matches) local.set("inspector", "open");
  tell();
  if (from) name.focus({ preventScroll: true });
  return load(address);
}

/** Close it, with `onlyDrawer` where it lies over the page; true when it was open. */
export function closeInspector({ onlyDrawer = false } = {}) {
  if (panel.hidden || (onlyDrawer && !narrow.matches)) return false;
  const focused = panel.contains(document.activeElement);
  panel.hidden = true;
  local.set("inspector", null);
  tell();
  const to = opener?.isConnected && opener.checkVisibility() ? opener : document.getElementById("message");
  if (focused) to.focus({ preventScroll: true });
  return true;
}

/** Fetch the next request again, where that is what is shown. */
export function refreshInspector() {
  if (!panel.hidden && shown === upcoming) load(upcoming);
}

export function startInspector() {
  document.addEventListener("click", (event) => {
    const toggle = event.target.closest("[data-inspector]");
    const link = event.target.closest("a[data-inspect]");
    if (toggle && !closeInspector()) show(upcoming, toggle);
    if (event.target.closest("[data-inspector-close]")) closeInspector();
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    link.closest(":popover-open")?.hidePopover();
    if (tabs.includes(link)) load(link.getAttribute("href"));
    else show(link.getAttribute("href"), panel.contains(link) ? name : link);
  });
  panel.querySelector("[role=tablist]").addEventListener("keydown", (event) => {
    const by = { [ONWARD]: 1, [BACK]: -1 }[event.key];
    if (!by) return;
    const to = tabs[(tabs.indexOf(event.target) + by + tabs.length) % tabs.length];
    to.focus();
    to.click();
  });
  if (!narrow.matches && local.get("inspector") === "open") show(upcoming);
}
