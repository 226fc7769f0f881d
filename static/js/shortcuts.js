// "?" lists the shortcuts, Ctrl K opens the palette; single keys can be switched off on the settings page.
export function shortcutsAreOn() {
  return document.body.dataset.shortcuts !== "off";
}

export function isTyping(target) {
  return target.matches("input, textarea, select, [contenteditable]");
}

export function startShortcuts() {
  document.addEventListener("keydown", (event) => {
    const isChord = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === "k";
    if (isChord && shortcutsAreOn() && !document.querySelector("dialog[open]")) {
      event.preventDefault();
      document.querySelector("[data-palette]")?.click();
    }
    if (event.key !== "?" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!shortcutsAreOn() || isTyping(event.target) || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    document.getElementById("shortcuts")?.showModal();
  });
}
