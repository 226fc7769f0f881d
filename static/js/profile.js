// Choosing a known model fills in its limits and prices; a provider hides what it does not need.
const defaults = read("model-defaults");
const providers = read("provider-traits");
const model = document.getElementById("id_model");
const name = document.getElementById("id_name");
let named = nameOf(model.value);
const provider = document.getElementById("id_provider");
const address = document.getElementById("id_base_url");
const server = document.getElementById("server");
const surcharge = document.getElementById("surcharge");
const key = document.querySelector("[data-needs-key]");
const serverKey = document.querySelector("[data-server-key]");
const connection = document.getElementById("connection");

/** A model's name as people say it; the server says the same of a path. */
function nameOf(id) {
  const last = id.split(/[/\\]/).findLast(Boolean) ?? id;
  return defaults[id]?.name ?? last.replace(/\.(gguf|bin|safetensors|llamafile)$/i, "").replace(/[.-](?=(I?Q\d|BF16|FP?16|F32|MXFP)\w*$)/i, " ");
}

function read(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

let filled = {};

function fill(fields = {}) {
  for (const [id, value] of Object.entries(fields)) {
    const field = document.getElementById(`id_${id}`);
    field[typeof value === "boolean" ? "checked" : "value"] = value;
  }
  filled = { ...filled, ...fields };
}

// What one model filled in, and nobody changed, is not another's.
function clear() {
  for (const [id, value] of Object.entries(filled)) {
    const field = document.getElementById(`id_${id}`);
    if (typeof value === "boolean") field.checked = false;
    else if (field.value === String(value)) field.value = id.startsWith("price") ? "0" : "";
  }
  filled = {};
}

model.addEventListener("input", () => {
  const known = defaults[model.value];
  const called = nameOf(model.value);
  if (known) provider.value = known.provider;
  if (["", named].includes(name.value)) name.value = called;
  name.dispatchEvent(new Event("input", { bubbles: true }));
  named = called;
  surcharge.textContent = known?.surcharge ?? "";
  adapt();
  clear();
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
  for (const wish of ["effort", "temperature"]) {
    document.getElementById(`id_${wish}`).closest(".field").hidden = !traits?.takes.includes(wish);
  }
  serverKey.hidden = !traits?.serverKey || address.value !== "";
  const models = Object.keys(defaults).filter((one) => defaults[one].provider === provider.value);
  document.getElementById("known-models").replaceChildren(...models.map((one) => new Option("", one)));
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
  model.dispatchEvent(new Event("input"));
  fill(JSON.parse(target.selectedOptions[0].dataset.fields));
});

provider.addEventListener("change", adapt);
address.addEventListener("change", adapt);
adapt();
