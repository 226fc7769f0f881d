// Menus of what can be done: filled by htmx as they open, walked through with the arrow keys.
/** Move the focus among the choices; true where the key does so. */
export function walk(choices, { key }) {
  const now = choices.indexOf(document.activeElement);
  const to = { ArrowDown: now + 1, ArrowUp: Math.max(0, now - 1), Home: 0, End: choices.length - 1 }[key];
  if (to === undefined) return false;
  choices[Math.min(to, choices.length - 1)]?.focus();
  return true;
}

// What had the focus as a popover opened: the browser gives it back only where no other one is open.
const before = new WeakMap();

export function startMenus() {
  document.addEventListener(
    "beforetoggle",
    ({ target, newState }) => {
      if (newState === "open") before.set(target, document.activeElement);
      else if (target.contains(document.activeElement)) before.get(target)?.focus();
    },
    true,
  );
  document.addEventListener("click", ({ target }) => {
    const button = target.closest("[popovertarget][hx-get]");
    // What stood there was another one's, or is not true any more.
    if (button && !button.popoverTargetElement.matches(":popover-open")) button.popoverTargetElement.replaceChildren();
    target.closest(".menu-item")?.closest(":popover-open")?.hidePopover();
  });
  document.body.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
    if (target.matches(".menu:popover-open")) target.querySelector(".menu-item").focus();
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.target.closest?.(".menu");
    if (menu && walk([...menu.querySelectorAll(".menu-item")], event)) event.preventDefault();
  });
}
