// What a message says, as it was written: the page carries it only where nobody else has it.

/** Return the words of a message's row; throw where the server can't be asked. */
export async function sourceOf(row) {
  const kept = row.querySelector(":scope > template[data-source]");
  return kept ? kept.content.textContent : fetchText(row.dataset.text);
}

/** Return the text at an address of this server. */
export async function fetchText(address) {
  const response = await fetch(address);
  if (!response.ok || response.redirected) throw new Error(response.status);
  return response.text();
}

/** Return what the JSON at an address of this server says. */
export async function fetchJson(address) {
  return JSON.parse(await fetchText(address));
}
