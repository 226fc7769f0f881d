// What was typed into forms comes back after signing in again, and where a page is loaded anew; keys,
// passwords and files do not. Choices come back only where the page itself had to go.
import { session } from "./storage.js";
import { text } from "./text.js";
import { toast } from "./toast.js";

const KEPT = "typed";
const FORMS = ":is(:is(#main, #dialog[open]) form[method=post], #keep)";
const FIELDS = `${FORMS} :is(input:not([type=hidden], [type=file], [type=password]), select, textarea)[name]`;
const SECRETS = `${FORMS} :is([type=password], [name^=sealed_])`;

const main = document.getElementById("main");
const dialog = document.getElementById("dialog");
const user = main.dataset.user;

let waits = false;

function read(field) {
  return ["checkbox", "radio"].includes(field.type) ? field.checked : field.value;
}

/** What a field is called on whatever page has its form. */
function nameOf(field) {
  return [field.form.getAttribute("action"), field.name, typeof read(field) === "boolean" && field.value].join();
}

function keep() {
  const fields = [...document.querySelectorAll(FIELDS)];
  const isTyped = ({ value, defaultValue = value }) => value !== defaultValue;
  const typed = fields.map((field) => [nameOf(field), read(field), isTyped(field)]);
  const isSecret = [...document.querySelectorAll(SECRETS)].some((field) => field.value);
  const address = dialog.open && dialog.dataset.address;
  const kept = { path: location.pathname, user, typed, isSecret, address, waits };
  session.set(KEPT, fields.length ? JSON.stringify(kept) : null);
}

/** Of a page that was left for another one all comes back, otherwise the texts that were typed. */
async function restore({ typed, isSecret, address, waits }) {
  if (waits && address) await window.htmx.ajax("GET", address, { target: dialog, swap: "innerHTML" });
  const fields = [...document.querySelectorAll(FIELDS)];
  const back = typed.filter(([name, value, isTyped]) => {
    const field = (waits || isTyped) && fields.find((one) => nameOf(one) === name && read(one) !== value);
    if (field) field[typeof value === "boolean" ? "checked" : "value"] = value;
    return field;
  });
  if (waits && isSecret) toast(text("typeSecrets"), "error");
  else if (back.length) toast(text("typedAgain"));
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
    const isAgain = kept?.waits || performance.getEntriesByType("navigation")[0]?.type === "reload";
    if (isAgain && kept?.path === location.pathname && kept.user === user) restore(kept);
  } else if (kept) {
    // Somebody has to sign in, or the request was refused.
    session.set(KEPT, JSON.stringify({ ...kept, waits: true }));
    main.querySelector("[data-back]")?.setAttribute("href", kept.path);
  }
}
