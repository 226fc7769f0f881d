// The inspector: what the model sees next, or saw in a call; a column, or a drawer without room.
import { local } from "./storage.js";

const panel = document.getElementById("inspector");
const body = document.getElementById("inspector-body");
const page = document.getElementById("inspector-page");
const name = document.getElementById("inspector-name");
const next = panel.querySelector("[data-inspect-next]");
const upcoming = panel.dataset.address;
const narrow = matchMedia("(width < 1200px)");

let shown = upcoming;
let opener = null;

function tell() {
  for (const button of document.querySelectorAll("[data-inspector][aria-expanded]")) {
    button.setAttribute("aria-expanded", String(!panel.hidden));
  }
}

/** Show what an address has; what was open of the same kind stays open. */
async function load(address) {
  const again = address === shown;
  const open = again ? [...body.querySelectorAll(".seen-card[open]")].map((card) => card.dataset.kind) : [];
  const top = again ? body.scrollTop : 0;
  shown = address;
  page.href = address;
  next.hidden = address === upcoming;
  body.setAttribute("aria-busy", "true");
  await window.htmx.ajax("GET", address, { target: body, swap: "innerHTML" });
  body.removeAttribute("aria-busy");
  for (const card of body.querySelectorAll(".seen-card")) card.open = open.includes(card.dataset.kind);
  body.scrollTop = top;
}

function show(address, from) {
  opener = from ?? opener;
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
    if (toggle) {
      document.getElementById("chat-menu").hidePopover();
      if (!closeInspector()) show(upcoming, toggle);
    }
    if (event.target.closest("[data-inspector-close]")) closeInspector();
    if (event.target.closest("[data-inspect-next]")) show(upcoming, next);
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    link.closest(":popover-open")?.hidePopover();
    show(link.getAttribute("href"), panel.contains(link) ? name : link);
  });
  if (!narrow.matches && local.get("inspector") === "open") show(upcoming);
}
