// The first page's composer: Enter sends, as in a conversation.
import { text } from "./text.js";

const form = document.getElementById("home-composer");
const box = form.querySelector("textarea");
const limit = Number(form.dataset.longest);

// The browser says it at the box, and sends nothing.
function check() {
  const count = box.value.length;
  box.setCustomValidity(count > limit ? text("tooLong", { count, limit }) : "");
}

box.addEventListener("input", check);

box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (box.value.trim()) form.requestSubmit();
});
