// The theme: the system's, or the one chosen here and remembered in this browser.
import { local } from "./storage.js";
import { text } from "./text.js";

const ORDER = ["system", "light", "dark"];
const root = document.documentElement;

function label(button) {
  const name = text(root.dataset.theme ?? "system");
  button.setAttribute("aria-label", name);
  button.title = name;
}

export function startTheme() {
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    label(button);
    button.addEventListener("click", () => {
      const next = ORDER[(ORDER.indexOf(root.dataset.theme ?? "system") + 1) % ORDER.length];
      if (next === "system") delete root.dataset.theme;
      else root.dataset.theme = next;
      local.set("theme", next === "system" ? null : next);
      label(button);
    });
  }
}
