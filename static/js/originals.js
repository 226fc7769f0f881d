// Originals of a condensation: their calls in lines as in the transcript, and long texts in part.
import { foldCalls } from "./calls.js";
import { fetchText } from "./source.js";
import { orSay } from "./toast.js";

/** Show all of a tool's text: what the page has of it, and what only the server has. */
async function showAll(button) {
  const box = button.parentElement;
  if (button.dataset.showAll) box.querySelector("pre").textContent = await fetchText(button.dataset.showAll);
  box.classList.remove("is-cut");
  button.remove();
}

export function startOriginals() {
  document.addEventListener("click", ({ target }) => {
    const more = target.closest("[data-show-all]");
    if (more) orSay(showAll(more));
  });
  document.body.addEventListener("htmx:afterSettle", ({ target }) => {
    const list = target.closest(".originals") ?? target.querySelector(".originals");
    if (list) foldCalls(list);
  });
  for (const list of document.querySelectorAll(".originals")) foldCalls(list);
}
