// Sliders and their numbers move together; every threshold says at once what it comes to.
import { text } from "./text.js";

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

function globalThreshold() {
  return Number(form.querySelector("[name=threshold]")?.value ?? form.dataset.globalThreshold);
}

function isAutomatic() {
  return form.querySelector("[name=auto_condense]")?.checked ?? form.dataset.auto !== "off";
}

function effect(set, name, percent, source) {
  if (!isAutomatic()) return text("switchedOff", { name });
  const words = text(source, { name, percent });
  const { window: size, allowed } = set.dataset;
  if (!size) return words;
  const wanted = Math.ceil((Number(size) * percent) / 100);
  const limit = Number(allowed) + 1;
  const tokens = Math.min(wanted, limit);
  return text(wanted > limit ? "atLimit" : "atTokens", { words, tokens });
}

function showGlobalEffect() {
  const line = form.querySelector("[data-global-effect]");
  if (!line) return;
  line.textContent = text(isAutomatic() ? "globally" : "neverGlobally", { percent: globalThreshold() });
}

function showEffects() {
  showGlobalEffect();
  for (const set of form.querySelectorAll("[data-threshold]")) {
    const owns = set.querySelector("[value=own]").checked;
    const number = set.querySelector("[type=number]");
    const name = set.dataset.name || form.querySelector("[name=name]")?.value || text("thisProfile");
    set.classList.toggle("inherits", !owns);
    if (owns && number.value === "") number.value = set.querySelector("[type=range]").value;
    const percent = owns ? Number(number.value) : globalThreshold();
    set.querySelector("[data-effect]").textContent = effect(set, name, percent, owns ? "fromOwn" : "fromGlobal");
  }
}

function guard() {
  const before = new URLSearchParams(new FormData(form)).toString();
  let leaving = false;
  const changed = () => new URLSearchParams(new FormData(form)).toString() !== before;
  const mark = form.querySelector("[data-unsaved]");
  form.addEventListener("input", () => mark && (mark.hidden = !changed()));
  form.addEventListener("submit", () => (leaving = true));
  addEventListener("beforeunload", (event) => {
    if (!leaving && changed()) event.preventDefault();
  });
}

form.querySelectorAll("[data-slider]").forEach(link);
form.addEventListener("input", showEffects);
showEffects();
guard();
