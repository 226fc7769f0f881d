// The sections of the settings: one is in view, and what was typed in the others stays.
import { session } from "./storage.js";

const OPEN = "settings-open";

function show(name) {
  for (const section of document.querySelectorAll("[data-section]")) section.hidden = section.dataset.section !== name;
  for (const link of document.querySelectorAll("[data-opens-section]")) {
    if (link.dataset.opensSection === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function current() {
  return document.querySelector("[data-opens-section][aria-current]").dataset.opensSection;
}

function followLinks() {
  const first = current();
  for (const link of document.querySelectorAll("[data-opens-section]")) {
    link.addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const name = link.dataset.opensSection;
      if (name !== current()) history.pushState({ section: name }, "", link.href);
      show(name);
      link.closest(".page-body").scrollTop = 0;
    });
  }
  addEventListener("popstate", (event) => show(event.state?.section ?? first));
}

/** Switch sections without a request; after a save, what was folded out is so again. */
export function startSections(form) {
  if (!document.querySelector("[data-opens-section]")) return;
  followLinks();
  const advanced = form.querySelector("[data-stays-open]");
  advanced.open = session.get(OPEN) === "yes";
  session.set(OPEN, null);
  form.addEventListener("submit", () => session.set(OPEN, advanced.open ? "yes" : null));
  for (const one of form.querySelectorAll("[data-opens-if-chosen]:has(:checked), details:has(.errorlist)")) one.open = true;
}
