// "?" lists the shortcuts, Ctrl K opens the palette. All can be switched off on the settings page.

// With Alt and Shift, which browsers leave to pages.
const PLACES = {
  n: () => document.querySelector(".sidebar-new a")?.click(),
  m: () => document.querySelector("textarea#message")?.focus(),
  s: () => [...document.querySelectorAll("[data-sidebar-toggle]")].find((one) => one.checkVisibility())?.click(),
};

/** Whether the user wants them. */
export const shortcutsAreOn = () => document.body.dataset.shortcuts !== "off";

export function isTyping(target) {
  return target.matches("input, textarea, select, [contenteditable]");
}

/** The letter of a key, also where Alt makes another sign of it. */
function letterOf({ key, code }) {
  return /^[a-z]$/i.test(key) ? key.toLowerCase() : code.replace("Key", "").toLowerCase();
}

/** What the pressed keys ask for, if they ask for anything. */
function shortcutOf(event) {
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  if (ctrlKey || metaKey) return !altKey && !shiftKey && letterOf(event) === "k" && openPalette;
  if (altKey) return shiftKey && PLACES[letterOf(event)];
  return key === "?" && !isTyping(event.target) && showList;
}

const openPalette = () => document.querySelector("[data-palette]")?.click();
const showList = () => document.getElementById("shortcuts")?.showModal();

export function startShortcuts() {
  // A key of an input method means nothing else. Safari ends the composition before its last one.
  const hold = (event) => (event.isComposing || event.keyCode === 229) && event.stopImmediatePropagation();
  addEventListener("keydown", hold, { capture: true });
  document.addEventListener("keydown", (event) => {
    if (!shortcutsAreOn() || document.querySelector("dialog[open]")) return;
    const action = shortcutOf(event);
    if (!action) return;
    event.preventDefault();
    action();
  });
}
