// What the server says: the words of a message as it was written, which the page carries only where
// nobody else has them, and others.
import { text } from "./text.js";
import { reasonOf } from "./toast.js";

/** Return the words of a message's row; throw where the server can't be asked. */
export async function sourceOf(row) {
  const kept = row.querySelector(":scope > template[data-source]");
  return kept ? kept.content.textContent : fetchText(row.dataset.text);
}

/** Return the text at an address of this server; throw where it has none, with the reason as the cause. */
export async function fetchText(address, options = {}) {
  const response = await fetch(address, options);
  const said = await response.text();
  // What leads elsewhere leads to signing in.
  const isOut = response.redirected || response.headers.has("HX-Redirect");
  if (response.ok && !isOut) return said;
  throw new Error(response.status, { cause: isOut ? text("expired") : reasonOf(response.status, said) });
}

/** Return what the JSON at an address of this server says. */
export async function fetchJson(address) {
  return JSON.parse(await fetchText(address));
}
