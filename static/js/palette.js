// The palette: what is typed finds, the arrow keys choose, Enter does it.
const KEYS = { ArrowDown: 1, ArrowUp: -1 };

function choose(list, chosen) {
  for (const one of list.querySelectorAll("[role=option]")) one.ariaSelected = String(one === chosen);
  const box = document.querySelector(".palette [role=combobox]");
  if (!chosen) return box.removeAttribute("aria-activedescendant");
  chosen.id = "palette-choice";
  box.setAttribute("aria-activedescendant", chosen.id);
  chosen.scrollIntoView({ block: "nearest" });
}

/** What this page can't do is not offered. The first one is chosen. */
function settle() {
  const list = document.getElementById("palette-choices");
  if (!list) return;
  for (const one of list.querySelectorAll("[data-press]")) {
    const button = document.querySelector(one.dataset.press);
    if (!button?.checkVisibility() || button.ariaDisabled === "true") one.remove();
  }
  for (const group of list.querySelectorAll("[role=group]:not(:has([role=option]))")) group.remove();
  choose(list, list.querySelector("[role=option]"));
}

function options() {
  return [...document.querySelectorAll("#palette-choices [role=option]")];
}

document.addEventListener("keydown", (event) => {
  if (!event.target.matches(".palette [role=combobox]") || event.isComposing) return;
  const all = options();
  const now = all.findIndex((one) => one.ariaSelected === "true");
  if (event.key === "Enter") all[now]?.click();
  else if (KEYS[event.key] && all.length) {
    document.getElementById("palette-choice")?.removeAttribute("id");
    choose(document.getElementById("palette-choices"), all[(now + KEYS[event.key] + all.length) % all.length]);
  } else return;
  event.preventDefault();
});

document.addEventListener("click", ({ target }) => {
  const chosen = target.closest(".palette [data-press]");
  if (!chosen) return;
  const button = document.querySelector(chosen.dataset.press);
  document.getElementById("dialog").close();
  button.click();
});

document.body.addEventListener("htmx:afterSwap", ({ detail }) => detail.target.matches("#dialog, #palette-choices") && settle());
settle();
