// "?" lists the shortcuts; those of single keys, and of keys with Alt, can be switched off on the
// settings page.

import { local } from "./storage.js";

// With Alt and Shift, which browsers leave to pages.
const PLACES = {
  n: () => document.querySelector(".sidebar-new a")?.click(),
  m: () => document.querySelector("textarea#message")?.focus(),
  s: () => [...document.querySelectorAll("[data-sidebar-toggle]")].find((one) => one.checkVisibility())?.click(),
};

/** Whether the user wants them, as the latest page of a conversation said it. */
export function shortcutsAreOn() {
  const { shortcuts } = document.body.dataset;
  if (shortcuts) local.set("shortcuts", shortcuts);
  return (shortcuts ?? local.get("shortcuts")) !== "off";
}

export function isTyping(target) {
  return target.matches("input, textarea, select, [contenteditable]");
}

/** The letter of a key, also where Alt makes another sign of it. */
function letterOf({ key, code }) {
  return /^[a-z]$/i.test(key) ? key.toLowerCase() : code.replace("Key", "").toLowerCase();
}

export function startShortcuts() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || !shortcutsAreOn() || document.querySelector("dialog[open]")) return;
    const go = event.altKey && event.shiftKey && PLACES[letterOf(event)];
    const asksForList = event.key === "?" && !event.altKey && !isTyping(event.target);
    if (!go && !asksForList) return;
    event.preventDefault();
    if (go) go();
    else document.getElementById("shortcuts")?.showModal();
  });
}
