// The theme: the system's, or the one chosen here and remembered in this browser.
import { local } from "./storage.js";
import { text } from "./text.js";

const ORDER = ["system", "light", "dark"];
const root = document.documentElement;
const chosen = () => root.dataset.theme ?? "system";

function use(theme) {
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
  local.set("theme", theme === "system" ? null : theme);
  for (const button of document.querySelectorAll("[data-theme-toggle]")) label(button);
}

function label(button) {
  button.ariaLabel = button.title = text(chosen());
}

export function startTheme() {
  for (const button of document.querySelectorAll("[data-theme-toggle]")) {
    label(button);
    button.addEventListener("click", () => use(ORDER[(ORDER.indexOf(chosen()) + 1) % ORDER.length]));
  }
  // The settings page has a list of them.
  const choice = document.querySelector("[data-theme-choice]");
  if (choice) choice.value = chosen();
  choice?.addEventListener("change", () => use(choice.value));
}
