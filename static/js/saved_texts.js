/** Let one more prompt or command be written below the others of the settings page. */
export function offerTexts() {
  for (const add of document.querySelectorAll("[data-adds]")) {
    add.addEventListener("click", () => addText(add.dataset.adds));
  }
}

function addText(kind) {
  const total = document.querySelector(`[name=${kind}-TOTAL_FORMS]`);
  const made = document.createElement("template");
  made.innerHTML = document.querySelector(`[data-new=${kind}]`).innerHTML.replaceAll("__prefix__", total.value);
  total.value = String(Number(total.value) + 1);
  const fields = made.content.firstElementChild;
  document.querySelector(`[data-saved=${kind}]`).append(made.content);
  if (kind === "prompts") fillIn(fields);
  fields.querySelector("input:not([type=hidden])").focus();
  total.dispatchEvent(new Event("input", { bubbles: true }));
}

// An example adds to the default, so that a summary has all the sections it needs.
function fillIn(fields) {
  const [example] = document.querySelector("[data-example]").selectedOptions;
  const words = document.querySelector("[data-default-prompt]").textContent.trim();
  fields.querySelector("textarea").value = [words, example.dataset.text].filter(Boolean).join("\n\n");
  if (example.dataset.text) fields.querySelector("input:not([type=hidden])").value = example.text;
}
