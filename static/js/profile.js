// Choosing a known model fills in its limits and prices; a provider hides what it does not need.
const defaults = read("model-defaults");
const providers = read("provider-traits");
const model = document.getElementById("id_model");
const provider = document.getElementById("id_provider");
const address = document.getElementById("id_base_url");
const server = document.getElementById("server");
const surcharge = document.getElementById("surcharge");
const key = document.querySelector("[data-needs-key]");
const connection = document.getElementById("connection");

function read(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

function fill(fields) {
  for (const [name, value] of Object.entries(fields ?? {})) {
    const field = document.getElementById(`id_${name}`);
    if (typeof value === "boolean") field.checked = value;
    else field.value = value;
  }
}

model.addEventListener("input", () => {
  const known = defaults[model.value];
  if (known) provider.value = known.provider;
  const name = document.getElementById("id_name");
  if (known && !name.value) name.value = known.name;
  surcharge.textContent = known?.surcharge ?? "";
  adapt();
  fill(known?.fields);
});

function adapt() {
  const traits = providers[provider.value];
  const servers = traits?.servers ?? [];
  const [own, other] = [...document.getElementById("server-words").content.cloneNode(true).children];
  server.replaceChildren(own, ...servers.map((one) => new Option(one.label, one.url)), other);
  const known = servers.find((one) => one.url === address.value);
  server.value = known?.url ?? (address.value ? "-" : "");
  server.closest(".field").hidden = servers.length === 0;
  key.hidden = traits?.needsKey === false || known?.needsKey === false;
  for (const name of ["effort", "temperature"]) {
    document.getElementById(`id_${name}`).closest(".field").hidden = !traits?.takes.includes(name);
  }
  address.placeholder = traits?.url ?? "";
  address.closest(".field").hidden = traits?.url === "";
}

server.addEventListener("change", () => {
  if (server.value === "-") {
    address.focus();
  } else {
    address.value = server.value;
    adapt();
  }
});

connection.addEventListener("htmx:afterSwap", () => {
  fill(JSON.parse(connection.querySelector("[data-fields]")?.dataset.fields ?? "{}"));
});

connection.addEventListener("change", ({ target }) => {
  if (!target.value) return;
  model.value = target.value;
  fill(JSON.parse(target.selectedOptions[0].dataset.fields));
});

provider.addEventListener("change", adapt);
address.addEventListener("change", adapt);
adapt();
