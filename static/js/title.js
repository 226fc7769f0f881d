// The title: a click or the menu turns it into a field; Enter keeps, Esc leaves.
import { nameTab } from "./activity.js";

function parts() {
  const form = document.getElementById("title");
  return { form, heading: form.querySelector("h1"), field: form.querySelector("input[name=title]") };
}

function open() {
  const { heading, field } = parts();
  document.getElementById("chat-menu").hidePopover();
  heading.hidden = true;
  field.hidden = false;
  field.value ||= heading.textContent;
  field.focus();
  field.select();
}

function close() {
  const { heading, field } = parts();
  field.value = heading.dataset.title;
  field.hidden = true;
  heading.hidden = false;
}

/** A conversation names itself after its first message, and may be `named` after its reply. */
export async function refreshTitle({ named = false } = {}) {
  const { form, heading, field } = parts();
  if (!field.hidden || (heading.dataset.untitled === undefined && !named)) return;
  await window.htmx.ajax("GET", form.action, { target: "#title", swap: "outerHTML" });
}

export function startTitle() {
  document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target.id === "title") nameTab(parts().heading.textContent);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-rename]")) open();
  });
  document.addEventListener("dblclick", (event) => {
    if (event.target.closest("#title h1")) open();
  });
  document.addEventListener("focusout", (event) => {
    if (!event.target.matches("#title input[name=title]") || event.target.hidden) return;
    const { form, heading, field } = parts();
    if (field.value.trim() && field.value !== heading.dataset.title) form.requestSubmit();
    else close();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !event.target.matches("#title input[name=title]")) return;
    event.stopPropagation();
    close();
    document.getElementById("message").focus();
  }, true);
}
