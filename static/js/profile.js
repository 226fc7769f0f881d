// Choosing a known model fills in its limits and prices; providers without a key hide it.
const defaults = JSON.parse(document.getElementById("model-defaults").textContent);
const model = document.getElementById("id_model");
const provider = document.getElementById("id_provider");
const key = document.querySelector("[data-needs-key]");

model.addEventListener("input", () => {
  const known = defaults[model.value];
  if (known) provider.value = known.provider;
  const name = document.getElementById("id_name");
  if (known && !name.value) name.value = known.name;
  showKey();
  for (const [name, value] of Object.entries(known?.fields ?? {})) {
    document.getElementById(`id_${name}`).value = value;
  }
});

function showKey() {
  key.hidden = provider.value === "offline";
}

provider.addEventListener("change", showKey);
showKey();
