// What the agent asks gets the focus where that disturbs nobody, and is told where it would; an
// approval has keys.
import { isTyping, shortcutsAreOn } from "./shortcuts.js";
import { say } from "./speech.js";
import { text } from "./text.js";

const ASKED = "#transcript .question";
const DECISIONS = { Enter: '[value="once"]', Backspace: '[value="deny"]:not([hidden])' };

const composer = document.getElementById("message");
// The addresses of the question that was told last, and of the one that the focus went into.
let told = "";
let entered = "";

function wordsOf(form) {
  const names = [...form.closest(".tool").querySelectorAll(".tool-name, .tool-argument")];
  const words = [form.querySelector(".question-text"), ...names].map((one) => one.textContent).join(" ");
  return shortcutsAreOn() && form.querySelector(DECISIONS.Enter) ? `${words}. ${text("approvalKeys")}` : words;
}

function isInView(element) {
  const [inner, outer] = [element, document.getElementById("scroller")].map((one) => one.getBoundingClientRect());
  return inner.top >= outer.top && inner.bottom <= outer.bottom;
}

/** See to the question that waits now, if any, after the page has changed. */
export function showQuestion(scroll) {
  const form = document.querySelector(ASKED);
  const { action } = form ?? { action: "" };
  // What had the focus was answered, or drawn anew.
  const isLost = told && entered === told && document.activeElement === document.body;
  const isNew = action !== told;
  told = action;
  const isIdle = document.activeElement === composer && !composer.value;
  const isFree = form && isNew && isIdle && (scroll.isFollowing || isInView(form));
  if (isLost || isFree) (form ?? composer).focus({ preventScroll: true });
  else if (form && isNew) say(wordsOf(form));
}

/** Click the button of a key; what is out of view is shown instead, as nobody decides on it unseen. */
function decide(event) {
  const form = document.querySelector(ASKED);
  const button = form?.querySelector(DECISIONS[event.key] ?? "none");
  const isWriting = isTyping(event.target) && event.target.value;
  if (!button || isWriting || event.repeat || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  event.stopPropagation();
  if (!isInView(button)) return form.focus();
  // A key decides at once, without a reason.
  form.querySelector("[name=words]").hidden = false;
  button.click();
}

/** Ask for the reason when "Deny" is pressed; pressed again, or with Enter, it denies. */
function askWhy(event) {
  const why = event.target.closest(".question [value=deny]:not([hidden])")?.nextElementSibling;
  if (!why?.hidden) return;
  event.preventDefault();
  why.hidden = false;
  why.focus();
}

export function startQuestions() {
  document.addEventListener("click", askWhy);
  document.addEventListener("focusin", ({ target }) => (entered = target.closest(ASKED)?.action ?? ""));
  const decides = ({ altKey, ctrlKey, metaKey, shiftKey }) => altKey && !ctrlKey && !metaKey && !shiftKey;
  document.addEventListener("keydown", (event) => shortcutsAreOn() && decides(event) && decide(event), { capture: true });
  // Who goes on typing where the focus has just left the composer types there.
  document.addEventListener("keydown", ({ key, target, altKey, ctrlKey, metaKey }) => {
    const isText = key.length === 1 && !altKey && !ctrlKey && !metaKey && !(shortcutsAreOn() && "/? ".includes(key));
    if (isText && target.matches(ASKED)) composer.focus();
  });
}
