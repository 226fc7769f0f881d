// An open page whose reader has chosen another language elsewhere: it is loaded anew, not mixed.
import { language } from "./text.js";
import { loadAnew } from "./typed.js";

/** Whether an answer is in the page's language; where it is not, the page is loaded anew. */
export function isOurs(theirs) {
  if (!theirs || theirs === language) return true;
  loadAnew();
  return false;
}

export function startLanguage() {
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { requestConfig, xhr } = event.detail;
    // What something has led to is only told once, so it is shown; and a message that is being edited would be lost.
    const stays = requestConfig.verb !== "get" || document.querySelector(".is-editing");
    if (!stays && !isOurs(xhr.getResponseHeader("Content-Language"))) event.preventDefault();
  });
}
