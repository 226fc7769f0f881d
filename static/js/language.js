// An open page whose reader has chosen another language elsewhere: it is loaded anew, not mixed.
import { loadAnew } from "./typed.js";

/** Whether an answer is in the page's language; where it is not, the page is loaded anew. */
export function isOurs(language) {
  // A message that is being edited in its place would be lost.
  if (!language || language === document.documentElement.lang || document.querySelector(".is-editing")) return true;
  loadAnew();
  return false;
}

export function startLanguage() {
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { requestConfig, xhr } = event.detail;
    // What something has led to is only told once, so it is shown.
    if (requestConfig.verb === "get" && !isOurs(xhr.getResponseHeader("Content-Language"))) event.preventDefault();
  });
}
