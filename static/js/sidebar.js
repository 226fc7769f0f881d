// The sidebar: a column that can be closed, or a drawer where there is no room for a column.
import { local } from "./storage.js";

const root = document.documentElement;
const narrow = matchMedia("(width < 900px)");

function isOpen() {
  return narrow.matches ? root.classList.contains("drawer-open") : !root.classList.contains("sidebar-closed");
}

function show() {
  for (const button of document.querySelectorAll("[data-sidebar-toggle][aria-expanded]")) {
    button.ariaExpanded = isOpen();
  }
}

function toggle() {
  if (narrow.matches) {
    const isOpen = root.classList.toggle("drawer-open");
    document.querySelector(isOpen ? ".sidebar-close" : ".sidebar-open")?.focus();
  } else {
    local.set("sidebar", root.classList.toggle("sidebar-closed") ? "closed" : null);
  }
  show();
}

let timer = 0;

/** Fetch the list of conversations again, once for all news of a moment, unless somebody searches in it. */
export function refreshList() {
  clearTimeout(timer);
  timer = setTimeout(() => {
    const form = document.querySelector(".sidebar-search");
    // The page to sign in has no list.
    if (form?.elements.q.value !== "") return;
    form.elements.shown.value = document.querySelectorAll("#conversation-list > :not(.is-pinned) > li").length;
    window.htmx.trigger(form, "submit");
  }, 100);
}

export function startSidebar() {
  // What changed the list here is told to this browser's other tabs, of which some hear of it from nobody else.
  const tabs = new BroadcastChannel("conversations");
  tabs.onmessage = () => window.htmx.trigger(document.body, "list-changed", { told: true });
  document.body.addEventListener("list-changed", ({ detail }) => {
    refreshList();
    if (!detail.told) tabs.postMessage("changed");
  });
  show();
  // What is shown now stays in sight in its list: what was found, or the conversation.
  const shown = document.querySelector(".hit[aria-current]") ?? document.querySelector(".conversation.is-current");
  shown?.scrollIntoView({ block: "nearest" });
  narrow.addEventListener("change", show);
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-sidebar-toggle]")) toggle();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && narrow.matches && isOpen()) toggle();
  });
}
