// The picker of models: typing finds, the arrow keys choose, Enter takes, Escape closes.
import { text } from "./text.js";

const KEYS = { ArrowDown: 1, ArrowUp: -1 };
const picker = document.getElementById("models");
const box = document.getElementById("picker-box");
const list = document.getElementById("picker-choices");
const form = document.getElementById("profile-choice");

// The reply that the chosen one answers again; 0 where it answers from now on.
let seq = 0;

const options = () => [...list.querySelectorAll("[role=option]:not([hidden])")];

function point(chosen) {
  for (const one of list.children) one.ariaSelected = String(one === chosen);
  if (!chosen) return box.removeAttribute("aria-activedescendant");
  box.setAttribute("aria-activedescendant", chosen.id);
  chosen.scrollIntoView({ block: "nearest" });
}

function find() {
  const words = box.value.toLowerCase().split(/\s+/);
  for (const one of list.querySelectorAll("[role=option]")) one.hidden = !words.every((word) => one.textContent.toLowerCase().includes(word));
  document.getElementById("picker-none").textContent = box.value && !options().length ? text("noModel") : "";
  point(options().find((one) => !box.value && one.ariaCurrent) ?? options()[0]);
}

function open(opener, of) {
  seq = of;
  const words = document.getElementById("picker-of");
  words.textContent = of ? words.dataset.again : words.dataset.choose;
  if (of) picker.showPopover({ source: opener });
}

/** `again` has a profile answer a reply's question anew. */
export function startPicker(again) {
  document.addEventListener("click", ({ target }) => {
    const opener = target.closest("[data-again-with], .picker-opener");
    if (opener) open(opener, Number(opener.dataset.againWith ?? 0));
  });
  picker.addEventListener("toggle", ({ newState }) => {
    if (newState !== "open") return;
    box.value = "";
    window.htmx.trigger(list, "look");
    box.focus();
  });
  list.addEventListener("htmx:afterSwap", find);
  box.addEventListener("input", find);
  box.addEventListener("keydown", (event) => {
    const all = options();
    const now = all.findIndex((one) => one.ariaSelected === "true");
    if (event.key !== "Enter" && !KEYS[event.key]) return;
    event.preventDefault();
    if (event.key === "Enter") all[now]?.click();
    else point(all[(now + KEYS[event.key] + all.length) % all.length]);
  });
  list.addEventListener("click", ({ target }) => {
    const chosen = target.closest("[role=option]");
    if (!chosen) return;
    picker.hidePopover();
    for (const menu of document.querySelectorAll(":popover-open")) menu.hidePopover();
    form.elements.profile.value = chosen.dataset.profile;
    if (seq) again(seq, Number(chosen.dataset.profile));
    else window.htmx.trigger(form, "submit");
    document.getElementById("message").focus();
  });
}
