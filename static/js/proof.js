// The record of a condensation: sentences of its summary lead to the originals they rest on, and back.
import { openCalls } from "./calls.js";
import { make } from "./elements.js";
import { startOriginals } from "./originals.js";
import { text } from "./text.js";

const sources = (sentence) => [...sentence.querySelectorAll(".source-mark")].map((mark) => mark.hash.slice(10));

function sentencesOf(original) {
  const keys = original.dataset.keys.split(" ");
  return [...document.querySelectorAll(".sentence")].filter((one) => sources(one).some((key) => keys.includes(key)));
}

function originalsOf(sentence) {
  return sources(sentence).flatMap((key) => document.getElementById(`original-${key}`)?.closest(".original") ?? []);
}

function show(element) {
  openCalls(element, element.closest(".originals") ?? document.body);
  element.scrollIntoView({ block: "center" });
  element.focus({ preventScroll: true });
}

/** Each original says which sentences rest on it. */
function tellRests() {
  for (const original of document.querySelectorAll(".original:not(:has(.original-rests))")) {
    const resting = sentencesOf(original);
    if (!resting.length) continue;
    const links = resting.map((one) => {
      const words = one.cloneNode(true);
      for (const mark of words.querySelectorAll(".source-mark, .unsupported")) mark.remove();
      return make("li", {}, make("a", { href: `#${one.id}` }, words.textContent.trim()));
    });
    const summary = make("summary", {}, text("rests", { count: resting.length }));
    original.append(make("details", { className: "original-rests" }, summary, make("ul", {}, ...links)));
  }
}

function light({ target }) {
  const sentence = target.closest?.(".sentence");
  const original = target.closest?.(".original");
  const lit = sentence ? originalsOf(sentence) : original ? sentencesOf(original) : [];
  for (const one of document.querySelectorAll(".is-lit")) one.classList.toggle("is-lit", lit.includes(one));
  for (const one of lit) one.classList.add("is-lit");
}

startOriginals();
document.addEventListener("pointerover", light);
document.addEventListener("focusin", light);
document.addEventListener("click", (event) => {
  const { target } = event;
  const link = target.closest("a[href*='#original-'], a[href^='#sentence-']");
  // A click beside the links of a sentence follows the first of its own.
  const mark = link ?? (target.closest("a") ? null : target.closest(".sentence")?.querySelector(".source-mark"));
  const place = mark && document.getElementById(mark.hash.slice(1));
  if (!mark || String(getSelection())) return;
  if (!place) return link ? undefined : mark.click();
  event.preventDefault();
  show(place.closest(".original") ?? place);
});
document.body.addEventListener("htmx:afterSettle", tellRests);
tellRests();
const asked = location.hash.startsWith("#original-") && document.getElementById(location.hash.slice(1));
if (asked) show(asked.closest(".original"));
