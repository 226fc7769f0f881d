// Choosing a known model fills in its limits and prices; a provider hides what it does not need.
const defaults = read("model-defaults");
const providers = read("provider-traits");
const model = document.getElementById("id_model");
const provider = document.getElementById("id_provider");
const address = document.getElementById("id_base_url");
const surcharge = document.getElementById("surcharge");
const key = document.querySelector("[data-needs-key]");

function read(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

model.addEventListener("input", () => {
  const known = defaults[model.value];
  if (known) provider.value = known.provider;
  const name = document.getElementById("id_name");
  if (known && !name.value) name.value = known.name;
  surcharge.textContent = known?.surcharge ?? "";
  adapt();
  for (const [name, value] of Object.entries(known?.fields ?? {})) {
    document.getElementById(`id_${name}`).value = value;
  }
});

function adapt() {
  const traits = providers[provider.value];
  key.hidden = traits?.needsKey === false;
  address.placeholder = traits?.url ?? "";
  address.closest(".field").hidden = traits?.url === "";
}

provider.addEventListener("change", adapt);
adapt();
