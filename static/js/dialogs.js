// Dialogs: opened by buttons or filled by htmx; the browser returns the focus when they close.
const filled = document.getElementById("dialog");

export function startDialogs() {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens)?.showModal();
    if (event.target.closest("[data-close-dialog]")) event.target.closest("dialog").close();
    // A click on the backdrop is a click on the dialog itself.
    if (event.target.matches("dialog[open]")) event.target.close();
  });
  document.body.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.target === filled && !filled.open) filled.showModal();
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful && event.detail.requestConfig.verb === "post" && filled.open) filled.close();
  });
}
