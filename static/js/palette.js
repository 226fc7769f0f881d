// The palette: what is typed finds, the arrow keys choose, Enter does it.
const palette = document.getElementById("palette");
const box = document.getElementById("palette-box");
const list = document.getElementById("palette-choices");
const KEYS = { ArrowDown: 1, ArrowUp: -1 };

// Enter was pressed before the list for what is typed came.
let hurries = false;

const options = () => [...list.querySelectorAll("[role=option]:not([aria-disabled])")];

function choose(chosen) {
  document.getElementById("palette-choice")?.removeAttribute("id");
  for (const one of options()) one.ariaSelected = String(one === chosen);
  if (!chosen) return box.removeAttribute("aria-activedescendant");
  chosen.id = "palette-choice";
  box.setAttribute("aria-activedescendant", chosen.id);
  chosen.scrollIntoView({ block: "nearest" });
}

const isCurrent = () => list.querySelector("[data-text]")?.dataset.text === box.value.trim();

function canPress(choice) {
  const button = document.querySelector(choice);
  return button?.checkVisibility() && button.ariaDisabled !== "true";
}

/** What was not typed, or can't be done on this page, is not offered. The first one is chosen. */
function settle() {
  const words = box.value.toLowerCase().split(/\s+/);
  for (const one of list.querySelectorAll("[data-filtered] [role=option]")) {
    const { textContent: label, dataset } = one;
    const fits = words.every((word) => label.toLowerCase().includes(word));
    if (!fits || (dataset.press && !canPress(dataset.press))) one.remove();
  }
  for (const group of list.querySelectorAll("[role=group]:not(:has([role=option]))")) group.remove();
  for (const one of options()) one.tabIndex = -1;
  list.querySelector("[aria-disabled]")?.toggleAttribute("hidden", options().length > 0);
  choose(options()[0]);
  if (hurries && isCurrent()) options()[0]?.click();
}

box.addEventListener("keydown", (event) => {
  const all = options();
  const now = all.findIndex((one) => one.ariaSelected === "true");
  hurries = event.key === "Enter" && !isCurrent();
  if (event.key === "Enter" && !hurries) all[now]?.click();
  else if (KEYS[event.key] && all.length) choose(all[(now + KEYS[event.key] + all.length) % all.length]);
  else if (!hurries) return;
  event.preventDefault();
});

list.addEventListener("click", ({ target }) => {
  const chosen = target.closest("[role=option]:not([aria-disabled])");
  if (!chosen) return;
  palette.close();
  if (chosen.dataset.press) document.querySelector(chosen.dataset.press).click();
});

palette.addEventListener("close", () => {
  hurries = false;
  box.value = "";
  list.replaceChildren();
});

document.body.addEventListener("htmx:afterSwap", ({ detail }) => detail.target === list && settle());
settle();
