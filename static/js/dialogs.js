// Dialogs: opened by buttons or filled by htmx; the browser returns the focus when they close.
const filled = document.getElementById("dialog");

/** Open a dialog; where what opened it can't have the focus as it closes, "opener-gone" tells whoever drew it. */
function open(dialog) {
  const opener = document.activeElement;
  dialog.showModal();
  const closed = () => {
    const { activeElement: now, body } = document;
    if (now === body || dialog.contains(now)) document.dispatchEvent(new CustomEvent("opener-gone", { detail: opener }));
  };
  dialog.addEventListener("close", closed, { once: true });
}

export function startDialogs() {
  document.addEventListener("click", (event) => {
    const named = document.getElementById(event.target.closest("[data-opens]")?.dataset.opens);
    if (named) open(named);
    if (event.target.closest("[data-close-dialog]")) event.target.closest("dialog").close();
    // A click on the backdrop is a click on the dialog itself.
    if (event.target.matches("dialog[open]")) event.target.close();
  });
  document.body.addEventListener("htmx:afterSwap", (event) => {
    const { target, pathInfo } = event.detail;
    if (target !== filled) return;
    filled.dataset.address = pathInfo.finalRequestPath;
    if (!filled.open) open(filled);
  });
  // A refusal that says where it belongs is shown there.
  document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (!detail.xhr.getResponseHeader("HX-Retarget")) return;
    detail.shouldSwap = true;
    detail.isError = false;
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    const { successful, requestConfig, xhr } = event.detail;
    // What leads elsewhere may lead to signing in, and then back here.
    const isDone = successful && requestConfig.verb === "post" && !xhr.getResponseHeader("HX-Redirect");
    if (isDone && filled.open) filled.close();
  });
}
