// Short notices that go away by themselves, unless they offer something to do.
const LASTS = 6000;

function leaveLater(toast) {
  if (!toast.hasAttribute("data-lasting")) setTimeout(() => toast.remove(), LASTS);
}

/** Show words; with `offer` a button, which has the offer's words and does what it does. */
export function toast(words, kind = "info", offer = null) {
  const part = document.getElementById("toast-template").content.cloneNode(true);
  const box = part.querySelector(".toast");
  box.classList.add(`toast-${kind}`);
  box.querySelector("p").textContent = words;
  if (offer) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button";
    button.textContent = offer.words;
    button.addEventListener("click", () => [offer.act(), box.remove()]);
    box.querySelector("p").after(button);
  }
  document.getElementById("toasts").append(part);
  leaveLater(box);
}

export function startToasts() {
  const region = document.getElementById("toasts");
  region.addEventListener("click", (event) => {
    if (event.target.closest("[data-dismiss]")) event.target.closest(".toast").remove();
  });
  // An error stays until it is read.
  region.querySelectorAll(".toast:not(.toast-error)").forEach(leaveLater);
}
