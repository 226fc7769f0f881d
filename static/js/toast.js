// Short notices that go away by themselves, unless they offer something to do.
import { make, makeButton } from "./elements.js";
import { text } from "./text.js";

const LASTS = 6000;
/** Return why nothing was done: what an answer says, where it is in words. */
export function reasonOf(status, said) {
  return status < 500 && /^[^<]/.test(said) ? said : text("requestFailed", { status: String(status) });
}

function leaveLater(toast) {
  if (!toast.hasAttribute("data-lasting")) setTimeout(() => toast.remove(), LASTS);
}

/** Show words; with `offer` a button, which has the offer's words and does what it does. */
export function toast(words, kind = "info", offer = null) {
  const part = document.getElementById("toast-template").content.cloneNode(true);
  const box = part.querySelector(".toast");
  box.classList.add(`toast-${kind}`);
  box.querySelector("p").textContent = words;
  // What is offered stands in the page, too, and the status has the news.
  box.ariaLive = offer && "off";
  if (offer) box.querySelector("p").after(makeButton("button", offer.words, () => [offer.act(), box.remove()]));
  document.getElementById("toasts").append(part);
  leaveLater(box);
}

/** Return what the server answers; where it doesn't, say why and return undefined. */
export async function orSay(answer) {
  try {
    return await answer;
  } catch ({ cause = text("unreachable") }) {
    toast(cause, "error");
  }
}

// The button that was pressed last, unless a key was since.
let pressed = null;

/** Say why what was asked for last is refused, at its button where there is room. */
export function refuse(words) {
  if (!pressed?.isConnected || !sayBeside(pressed, words)) toast(words, "error");
}

/** Show why nothing was done beside what was pressed in the transcript or a dialog; false elsewhere. */
function sayBeside(pressed, words) {
  const from = pressed.closest("[popover]")?.parentElement ?? pressed;
  const place = from.closest("form, li, .milestone-actions, .message-foot, .milestone-nudge");
  if (!place?.closest("#transcript, dialog")) return false;
  place.querySelector(":scope > .refusal")?.remove();
  place.append(make("p", { className: "refusal", role: "alert" }, words));
  return true;
}

export function startToasts() {
  document.addEventListener("keydown", () => (pressed = null), { capture: true });
  document.addEventListener("click", ({ target }) => (pressed = target.closest("button")), { capture: true });
  const region = document.getElementById("toasts");
  region.addEventListener("click", (event) => {
    if (event.target.closest("[data-dismiss]")) event.target.closest(".toast").remove();
  });
  // An error stays until it is read.
  region.querySelectorAll(".toast:not(.toast-error)").forEach(leaveLater);
  // A request of htmx may also be refused in words, or not be answered at all.
  document.body.addEventListener("htmx:responseError", (event) => {
    const { status, responseText } = event.detail.xhr;
    const words = reasonOf(status, responseText);
    if (!sayBeside(event.detail.elt, words)) toast(words, "error");
  });
  document.body.addEventListener("htmx:sendError", () => toast(text("unreachable"), "error"));
}
