// "?" lists the shortcuts; single keys can be switched off on the settings page.
export function shortcutsAreOn() {
  return document.body.dataset.shortcuts !== "off";
}

export function isTyping(target) {
  return target.matches("input, textarea, select, [contenteditable]");
}

export function startShortcuts() {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!shortcutsAreOn() || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    document.getElementById("shortcuts")?.showModal();
  });
}
