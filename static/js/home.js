// The first page's composer: Enter sends, as in a conversation.
const form = document.getElementById("home-composer");
const box = form.querySelector("textarea");

box.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (box.value.trim()) form.requestSubmit();
});
