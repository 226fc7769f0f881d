// Sliders and their numbers move together; every threshold says at once what it comes to.
import { offerTexts } from "./saved_texts.js";
import { startSections } from "./sections.js";
import { text } from "./text.js";
import { chooseTheme } from "./theme.js";

const form = document.querySelector("form[data-guarded]");

function link(slider) {
  const [range, number] = slider.querySelectorAll("input");
  range.addEventListener("input", () => {
    number.value = range.value;
    number.dispatchEvent(new Event("input", { bubbles: true }));
  });
  number.addEventListener("input", () => {
    if (number.value !== "") range.value = number.value;
  });
}

const globalNumber = form.querySelector("[name=threshold]");

function globalThreshold() {
  return Number(globalNumber?.value ?? form.dataset.globalThreshold);
}

function isAutomatic() {
  return form.querySelector("[name=auto_condense]")?.checked ?? form.dataset.auto !== "off";
}

// The same sentence as chatapp/condensation/threshold.py, for values that are not saved yet.
function sentence({ window: size, allowed }, threshold) {
  if (!size) return text("ofWindow", { percent: threshold });
  const wanted = isAutomatic() ? Math.ceil((Number(size) * threshold) / 100) : Infinity;
  const at = Math.min(wanted, Number(allowed));
  const percent = Math.round((100 * at) / Number(size));
  return text(isAutomatic() ? "condensesAt" : "truncatesAt", { at, percent, free: Number(size) - at });
}

// What a number that can't be saved comes to is not said; why it can't, is.
function effect(number, words) {
  const valid = !number || number.value === "" || number.checkValidity();
  return valid ? words : text("outOfRange", { least: Number(number.min), most: Number(number.max) });
}

// The server's complaint stands alone until its number is changed.
function show(line, words) {
  line.textContent = line.parentElement.querySelector(".errorlist") ? "" : words;
}

function dropComplaint({ target }) {
  const field = target.closest("[data-threshold], .field");
  field?.querySelector(".errorlist")?.remove();
  field?.classList.remove("has-errors");
}

function showGlobalEffect() {
  const line = form.querySelector("[data-global-effect]");
  if (!line) return;
  const words = text(isAutomatic() ? "globally" : "neverGlobally", { percent: globalThreshold() });
  show(line, effect(globalNumber, words));
}

function showEffects() {
  showGlobalEffect();
  for (const set of form.querySelectorAll("[data-threshold]")) {
    const owns = set.querySelector("[value=own]").checked;
    const number = set.querySelector("[type=number]");
    set.classList.toggle("inherits", !owns);
    // Whose it is, as far as it is saved.
    for (const badge of set.querySelectorAll(".badge")) badge.hidden = !set.querySelector(":checked").defaultChecked;
    if (owns && number.value === "") number.value = set.querySelector("[type=range]").value;
    const deciding = owns ? number : globalNumber;
    const words = sentence(set.dataset, owns ? Number(number.value) : globalThreshold());
    show(set.querySelector("[data-effect]"), effect(deciding, words));
  }
}

function guard() {
  const now = () => new URLSearchParams(new FormData(form)).toString();
  // What came back with a complaint was not saved either.
  const before = form.querySelector(".errorlist") || "typed" in form.dataset ? null : now();
  let leaving = false;
  const changed = () => now() !== before;
  const mark = form.querySelector("[data-unsaved]");
  const showMark = () => mark && (mark.hidden = !changed());
  form.addEventListener("input", showMark);
  showMark();
  form.addEventListener("submit", () => (leaving = true));
  addEventListener("beforeunload", (event) => {
    if (!leaving && changed()) event.preventDefault();
  });
}

form.querySelectorAll("[data-slider]").forEach(link);
guard();
form.addEventListener("input", dropComplaint);
form.addEventListener("input", showEffects);
showEffects();

offerTexts();
chooseTheme();
startSections(form);
form.querySelector(".errorlist")?.scrollIntoView({ block: "center" });
