/** Let one more command be written below the others of the settings page. */
export function offerCommands() {
  const add = document.querySelector("[data-add-command]");
  const template = document.querySelector("[data-own-command]");
  const list = document.querySelector("[data-own-commands]");
  const total = document.querySelector("[name=commands-TOTAL_FORMS]");

  add?.addEventListener("click", () => {
    const made = document.createElement("template");
    made.innerHTML = template.innerHTML.replaceAll("__prefix__", total.value);
    total.value = String(Number(total.value) + 1);
    const fields = made.content.firstElementChild;
    list.append(made.content);
    fields.querySelector("input:not([type=hidden])").focus();
    total.dispatchEvent(new Event("input", { bubbles: true }));
  });
}
