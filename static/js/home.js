// The first page's composer: Enter sends, commands complete, and files can be attached, as in a
// conversation.
import { Attachments } from "./attachments.js";
import { calledIn, commandSource } from "./completions.js";
import { onEnter } from "./elements.js";
import { session } from "./storage.js";
import { Suggestions } from "./suggestions.js";
import { text } from "./text.js";
import { toast } from "./toast.js";

const form = document.getElementById("home-composer");
const box = form.querySelector("textarea");
const limit = Number(form.dataset.longest);
const inConversations = form.dataset.inConversations.split(" ");
const BEGUN = `begun-${document.getElementById("main").dataset.user}`;
let isSent = false;
const attachments = new Attachments(box, check);
new Suggestions([commandSource]);

function problem() {
  const count = box.value.length;
  if (count > limit) return text("tooLong", { count, limit });
  const { name, rest } = calledIn(box.value) ?? {};
  const isCommand = inConversations.includes(name) && (!rest || name === "condense");
  return isCommand ? text("inConversation", { name }) : "";
}

// The browser says it at the box, and sends nothing.
function check() {
  box.required = !attachments.ids.length;
  box.setCustomValidity(problem());
}

box.addEventListener("input", check);
// What was begun here is kept while one looks elsewhere.
box.value ||= session.get(BEGUN) ?? "";
addEventListener("pagehide", () => session.set(BEGUN, isSent ? null : box.value));

onEnter(box, () => (box.value.trim() || attachments.ids.length) && form.requestSubmit());

form.addEventListener("submit", (event) => {
  const called = calledIn(box.value);
  if (called?.name === "help" && !called.rest) {
    event.preventDefault();
    form.querySelector("[data-help]").click();
    box.value = "";
    return;
  }
  if (!attachments.isComing) return;
  event.preventDefault();
  toast(text("stillUploading"));
});

form.addEventListener("formdata", ({ formData }) => {
  isSent = true;
  for (const id of attachments.ids) formData.append("attachments", id);
});

/** The button says which model it is that one more click connects. */
function nameChoice() {
  const words = document.querySelector("#connect-button > span");
  const chosen = document.querySelector(".connect form:not(.nearby) .connect-answer select")?.selectedOptions[0];
  if (!words) return;
  words.dataset.words ??= words.textContent;
  words.textContent = chosen ? text("use", { name: chosen.dataset.name }) : words.dataset.words;
}

const connect = document.getElementById("connect");
connect?.addEventListener("htmx:afterSwap", nameChoice);
connect?.addEventListener("change", ({ target }) => {
  // An answer about one address says nothing of another.
  if (["to", "address"].includes(target.name)) target.form.querySelector(".connect-answer").replaceChildren();
  nameChoice();
});

document.body.addEventListener("connected", () => box.focus());

attachments.restore(form.dataset.attached.split(" ").filter(Boolean)).then(check);
