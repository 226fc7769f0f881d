// Settings: sliders and their numbers move together; every threshold says at once what it comes to;
// one section is in view, and what was typed in the others stays.
import { parse } from "./elements.js";
import { session } from "./storage.js";
import { inARow, percent, text } from "./text.js";

const OPEN = "settings-open";
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

// What can be kept free of a window that is typed, as condense/budget/budget.py does.
const [OUTPUT, SHARE] = [8192, 0.2];

/** The window of a profile and what fits into it, of the form's own as it is typed. */
function limitsOf(set) {
  const typed = form.elements.context_window;
  if (!typed) return { size: Number(set.dataset.window), allowed: Number(set.dataset.allowed), reserved: Number(set.dataset.reserved) };
  const size = Number(typed.value);
  const reserved = Math.min(Number(form.elements.max_output.value) || OUTPUT, Math.ceil(size * SHARE));
  return { size, reserved, allowed: Math.max(0, Math.floor(size * (1 - form.dataset.buffer)) - reserved) };
}

// The same sentence as chatapp/conversations/context/sizes.py, for values that are not saved yet.
function sentence({ size, allowed, reserved }, threshold) {
  if (!size) return text("ofWindow", { percent: percent(threshold) });
  const wanted = isAutomatic() ? Math.ceil((size * threshold) / 100) : Infinity;
  const at = Math.min(wanted, allowed);
  const name = wanted < allowed ? "condensesAt" : "latestAt";
  const values = { at, percent: percent((100 * at) / size), reserved, spare: size - reserved - allowed };
  return text(isAutomatic() ? name : "truncatesAt", values);
}

/** The last whole percentage at which a slider changes anything. */
function latestOf({ size, allowed }) {
  return size ? Math.max(5, Math.ceil((100 * allowed) / size)) : 100;
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

/** One threshold for all: the slider ends where the last of the profiles would condense that follow it. */
function showGlobalEffect(sets) {
  const line = form.querySelector("[data-global-effect]");
  if (!line) return;
  const known = sets.filter((set) => limitsOf(set).size);
  const following = known.filter((set) => set.classList.contains("inherits"));
  // The words are of one for which the threshold still makes a difference.
  const [first] = [...following.filter((set) => globalThreshold() <= latestOf(limitsOf(set))), ...following];
  const words = first ? sentence(limitsOf(first), globalThreshold()) : text("ofWindow", { percent: percent(globalThreshold()) });
  const named = first ? text("globally", { name: first.ariaLabel, words }) : words;
  show(line, effect(globalNumber, isAutomatic() ? named : text("neverGlobally")));
  const points = (following.length ? following : known).map((set) => [set.ariaLabel, latestOf(limitsOf(set))]);
  const range = line.parentElement.querySelector("[type=range]");
  if (points.length) range.max = Math.max(...points.map(([_name, point]) => point));
  const ticks = inARow(points.map(([name, point]) => text("latestOf", { name, percent: percent(point) })));
  form.querySelector("[data-latest]").textContent = points.length ? text("latestPossible", { points: ticks }) : "";
}

function showEffects() {
  const sets = [...form.querySelectorAll("[data-threshold]")];
  for (const set of sets) {
    const owns = set.querySelector("[value=own]").checked;
    const number = set.querySelector("[type=number]");
    set.classList.toggle("inherits", !owns);
    // Whose it is, as far as it is saved.
    for (const badge of set.querySelectorAll(".badge")) badge.hidden = !set.querySelector(":checked").defaultChecked;
    if (owns && number.value === "") number.value = set.querySelector("[type=range]").value;
    const deciding = owns ? number : globalNumber;
    const limits = limitsOf(set);
    const range = set.querySelector("[type=range]");
    range.max = latestOf(limits);
    if (number.value !== "") range.value = number.value;
    const words = sentence(limits, owns ? Number(number.value) : globalThreshold());
    show(set.querySelector("[data-effect]"), effect(deciding, words));
  }
  showGlobalEffect(sets);
}

/** Whether somebody has changed a control since the page came. */
function isTouched(one) {
  if (one.options) return [...one.options].some((option) => option.selected !== option.defaultSelected);
  return /checkbox|radio/.test(one.type) ? one.checked !== one.defaultChecked : one.value !== one.defaultValue;
}

/** Name what was left as it is: it may have been changed in another tab since. */
function nameUntouched({ formData }) {
  const shown = [...form.elements].filter(({ name, type }) => name && type !== "hidden");
  const touched = new Set(shown.filter(isTouched).map(({ name }) => name));
  for (const name of new Set(shown.map((one) => one.name))) if (!touched.has(name)) formData.append("kept", name);
}

function guard() {
  const now = () => new URLSearchParams(new FormData(form)).toString();
  // What came back with a complaint was not saved either.
  const isSaved = !form.querySelector(".errorlist") && !("typed" in form.dataset);
  if (isSaved) form.addEventListener("formdata", nameUntouched);
  const before = isSaved ? now() : null;
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

function showSection(name) {
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
      showSection(name);
      link.closest(".page-body").scrollTop = 0;
    });
  }
  addEventListener("popstate", (event) => showSection(event.state?.section ?? first));
}

/** Switch sections without a request; after a save, what was folded out is so again. */
function startSections() {
  if (!document.querySelector("[data-opens-section]")) return;
  followLinks();
  const advanced = form.querySelector("[data-stays-open]");
  advanced.open = session.get(OPEN) === "yes";
  session.set(OPEN, null);
  form.addEventListener("submit", () => session.set(OPEN, advanced.open ? "yes" : null));
  for (const one of form.querySelectorAll("[data-opens-if-chosen]:has(:checked), details:has(.errorlist)")) one.open = true;
}

/** Let one more prompt or command be written below the others of the settings page. */
function addText(kind) {
  const total = document.querySelector(`[name=${kind}-TOTAL_FORMS]`);
  const fields = parse(document.querySelector(`[data-new=${kind}]`).innerHTML.replaceAll("__prefix__", total.value)).firstElementChild;
  total.value = String(Number(total.value) + 1);
  document.querySelector(`[data-saved=${kind}]`).append(fields);
  if (kind === "prompts") fillIn(fields);
  fields.querySelector("input:not([type=hidden])").focus();
  total.dispatchEvent(new Event("input", { bubbles: true }));
}

// An example adds to the default, so that a summary has all the sections it needs.
function fillIn(fields) {
  const [example] = document.querySelector("[data-example]").selectedOptions;
  const words = document.querySelector("[data-default-prompt]").textContent.trim();
  fields.querySelector("textarea").value = [words, example.dataset.text].filter(Boolean).join("\n\n");
  if (example.dataset.text) fields.querySelector("input:not([type=hidden])").value = example.text;
}

form.querySelectorAll("[data-slider]").forEach(link);
guard();
form.addEventListener("input", dropComplaint);
form.addEventListener("input", showEffects);
showEffects();

for (const add of document.querySelectorAll("[data-adds]")) add.addEventListener("click", () => addText(add.dataset.adds));
startSections();
form.querySelector(".errorlist")?.scrollIntoView({ block: "center" });
