// An open page whose reader has chosen another language elsewhere, or whose server has other scripts
// and styles by now: it is loaded anew, not mixed.
import { language } from "./text.js";
import { loadAnew } from "./typed.js";

const { version } = document.documentElement.dataset;
const OURS = { language, version };

/** Whether an answer, by its headers, fits into the page; where it does not, the page is loaded anew. */
export function isOurs(header) {
  if (Object.keys(OURS).every((name) => [null, OURS[name]].includes(header(`Content-${name}`)))) return true;
  loadAnew();
  return false;
}

export function startLanguage() {
  document.body.addEventListener("htmx:beforeSwap", (event) => {
    const { requestConfig, xhr } = event.detail;
    // What something has led to is only told once, so it is shown.
    if (requestConfig.verb === "get" && !isOurs((name) => xhr.getResponseHeader(name))) event.preventDefault();
  });
}
