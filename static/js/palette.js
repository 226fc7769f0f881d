// The palette: what is typed finds, the arrow keys choose, Enter does it.
const palette = document.getElementById("palette");
const box = document.getElementById("palette-box");
const list = document.getElementById("palette-choices");
const KEYS = { ArrowDown: 1, ArrowUp: -1 };

function choose(chosen) {
  document.getElementById("palette-choice")?.removeAttribute("id");
  for (const one of list.querySelectorAll("[role=option]")) one.ariaSelected = String(one === chosen);
  if (!chosen) return box.removeAttribute("aria-activedescendant");
  chosen.id = "palette-choice";
  box.setAttribute("aria-activedescendant", chosen.id);
  chosen.scrollIntoView({ block: "nearest" });
}

/** What this page can't do is not offered. The first one is chosen. */
function settle() {
  for (const one of list.querySelectorAll("[data-press]")) {
    const button = document.querySelector(one.dataset.press);
    if (!button?.checkVisibility() || button.ariaDisabled === "true") one.remove();
  }
  for (const group of list.querySelectorAll("[role=group]:not(:has([role=option]))")) group.remove();
  choose(list.querySelector("[role=option]:not([aria-disabled])"));
}

box.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  const all = [...list.querySelectorAll("[role=option]:not([aria-disabled])")];
  const now = all.findIndex((one) => one.ariaSelected === "true");
  if (event.key === "Enter") all[now]?.click();
  else if (KEYS[event.key] && all.length) choose(all[(now + KEYS[event.key] + all.length) % all.length]);
  else return;
  event.preventDefault();
});

list.addEventListener("click", ({ target }) => {
  const chosen = target.closest("[role=option]");
  if (!chosen) return;
  palette.close();
  if (chosen.dataset.press) document.querySelector(chosen.dataset.press).click();
});

palette.addEventListener("close", () => {
  box.value = "";
  list.replaceChildren();
});

document.body.addEventListener("htmx:afterSwap", ({ detail }) => detail.target === list && settle());
settle();
