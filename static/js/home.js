// The first page's composer: Enter sends, and files can be attached, as in a conversation.
import { Attachments } from "./attachments.js";
import { text } from "./text.js";
import { toast } from "./toast.js";

const form = document.getElementById("home-composer");
const box = form.querySelector("textarea");
const limit = Number(form.dataset.longest);
const attachments = new Attachments(box, check);

// The browser says it at the box, and sends nothing.
function check() {
  const count = box.value.length;
  box.required = !attachments.ids.length;
  box.setCustomValidity(count > limit ? text("tooLong", { count, limit }) : "");
}

box.addEventListener("input", check);

box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (box.value.trim() || attachments.ids.length) form.requestSubmit();
});

form.addEventListener("submit", (event) => {
  if (!attachments.isComing) return;
  event.preventDefault();
  toast(text("stillUploading"));
});

form.addEventListener("formdata", ({ formData }) => {
  for (const id of attachments.ids) formData.append("attachments", id);
});
