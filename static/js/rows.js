// The list of conversations: one tab stop, and the arrow keys within it.
import { BACK, ONWARD } from "./elements.js";
import { walk } from "./menus.js";

const STOPS = ".conversation > a, summary, .folder > .button, .more > .button, .found-title, .hit";

function stopsOf(list) {
  return [...list.querySelectorAll(STOPS)].filter((one) => one.checkVisibility());
}

/** Let the tab key reach what has the focus, or what is shown now, and nothing else of the list. */
function settle(list) {
  const stops = stopsOf(list);
  const chosen = stops.find((one) => one.matches(":focus")) ?? stops.find((one) => one.ariaCurrent) ?? stops[0];
  for (const one of list.querySelectorAll(STOPS)) one.tabIndex = one === chosen ? 0 : -1;
}

function pressed(event, list) {
  const row = event.target.closest(".conversation, .folder");
  const opener = row?.querySelector(":scope > .row-menu-opener");
  if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) opener?.click();
  else if (event.key === ONWARD && event.target.matches("summary")) row.open = true;
  else if (event.key === BACK && event.target.matches("summary")) row.open = false;
  else if (event.key === ONWARD) opener?.focus();
  else if (event.key === BACK) row?.querySelector("a").focus();
  else if (!walk(stopsOf(list), event)) return;
  event.preventDefault();
}

/** What is shown anew keeps the focus where it was, and the folders open that were. */
function keep(list) {
  let [open, focused] = [[], null];
  const folders = () => [...list.querySelectorAll("[data-folder]")];
  const row = () => document.activeElement.closest("[data-row]");
  document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    // The button for more leaves the focus to what stands above it.
    const more = document.activeElement.closest(".more");
    if (more === detail.target && list.contains(more)) walk(stopsOf(list), { key: "ArrowUp" });
    if (detail.target !== list) return;
    open = folders().filter((one) => one.open).map((one) => one.dataset.folder);
    focused = list.contains(document.activeElement) && (row()?.dataset.row ?? "");
  });
  document.body.addEventListener("htmx:afterSettle", ({ detail, target }) => {
    if (!list.contains(target)) return;
    if (detail.target === list) for (const one of folders()) one.open ||= open.includes(one.dataset.folder);
    settle(list);
    if (focused === false || list.contains(document.activeElement)) return;
    const same = list.querySelector(`[data-row="${focused}"] > a`);
    (same?.checkVisibility() ? same : list.querySelector("[tabindex='0']"))?.focus({ preventScroll: true });
    focused = false;
  });
}

/** A conversation that is dragged onto a folder goes there. */
function startDragging() {
  let dragged = null;
  const folder = (event) => dragged && event.target.closest?.("[data-folder]:not([data-folder=archive])");
  document.addEventListener("dragstart", ({ target }) => (dragged = target.closest?.(".conversation")));
  document.addEventListener("dragover", (event) => folder(event) && event.preventDefault());
  document.addEventListener("drop", (event) => {
    const to = folder(event);
    if (!to) return;
    event.preventDefault();
    const address = dragged.querySelector("[hx-get]").getAttribute("hx-get").replace("menu/", "move/");
    window.htmx.ajax("POST", address, { source: to, swap: "none", values: { action: "move", folder: to.dataset.folder } });
  });
}

export function startRows() {
  for (const list of document.querySelectorAll(".conversation-list")) {
    settle(list);
    keep(list);
    list.addEventListener("keydown", (event) => pressed(event, list));
    list.addEventListener("focusin", ({ target }) => target.matches(STOPS) && settle(list));
    list.addEventListener("toggle", () => settle(list), true);
  }
  startDragging();
}
