// What was typed into forms comes back after signing in again, and where a page is loaded anew; keys,
// passwords and files do not.
import { session } from "./storage.js";
import { text } from "./text.js";
import { toast } from "./toast.js";

const KEPT = "typed";
const FORMS = ":is(#main, #dialog[open]) form[method=post]";
const FIELDS = `${FORMS} :is(input:not([type=hidden], [type=file]), select, textarea)[name]`;
const SECRETS = `${FORMS} :is([type=password], [name^=sealed_])`;

const main = document.getElementById("main");
const dialog = document.getElementById("dialog");
const user = main.dataset.user;

let waits = false;

function read(field) {
  return ["checkbox", "radio"].includes(field.type) ? field.checked : field.value;
}

function write(field, value) {
  field[typeof value === "boolean" ? "checked" : "value"] = value;
  field.form.dataset.typed = "";
}

function keep() {
  const fields = [...document.querySelectorAll(FIELDS)];
  const typed = fields.map((field) => [field.name, field.type === "password" ? "" : read(field)]);
  const isSecret = [...document.querySelectorAll(SECRETS)].some((field) => field.value);
  const address = dialog.open && dialog.dataset.address;
  const kept = { path: location.pathname, user, typed, isSecret, address, waits };
  session.set(KEPT, fields.length ? JSON.stringify(kept) : null);
}

async function restore({ typed, isSecret, address }) {
  if (address) await window.htmx.ajax("GET", address, { target: dialog, swap: "innerHTML" });
  const fields = [...document.querySelectorAll(FIELDS)];
  const lost = fields.filter(
    (field, at) => field.name === typed[at]?.[0] && field.type !== "password" && read(field) !== typed[at][1],
  );
  lost.forEach((field) => write(field, typed[fields.indexOf(field)][1]));
  if (isSecret) toast(text("typeSecrets"), "error");
  else if (lost.length) toast(text("typedAgain"));
}

/** Load the page anew with what was typed into it. */
export function loadAnew() {
  waits = true;
  // Nothing is lost, so nothing has to ask whether to leave.
  addEventListener("beforeunload", (event) => event.stopImmediatePropagation(), { capture: true });
  location.reload();
}

export function startTyped() {
  const kept = JSON.parse(session.get(KEPT));
  if (user) {
    session.set(KEPT, null);
    addEventListener("pagehide", keep);
    if (kept?.waits && kept.path === location.pathname && kept.user === user) restore(kept);
  } else if (kept) {
    // Somebody has to sign in, or the request was refused.
    session.set(KEPT, JSON.stringify({ ...kept, waits: true }));
    main.querySelector("[data-back]")?.setAttribute("href", kept.path);
  }
}
