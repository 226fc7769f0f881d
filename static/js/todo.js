// The agent's to-do list: open beside the chat, folded where it stands above the composer.
const beside = matchMedia("(width >= 1500px)");
const place = document.getElementById("todo");

let open = beside.matches;

/** Have the list as open as the one before it. */
function dress() {
  const list = place.querySelector("details");
  if (!list) return;
  list.open = open;
  list.addEventListener("toggle", () => (open = list.open));
}

export function tellOfList() {
  window.htmx.trigger(document.body, "todo-changed");
}

export function startTodo() {
  dress();
  place.addEventListener("htmx:afterSwap", dress);
}
