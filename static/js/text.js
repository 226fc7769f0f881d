// The page's words in its language, with numbers as the reader writes them; "{name}" stands for a value.

/** The page's language: a browser that translates the page writes another into its root. */
export const language = document.documentElement.lang;
/** How numbers and moments are written, as the server writes them. */
export const locale = document.documentElement.dataset.locale;

const texts = JSON.parse(document.getElementById("script-texts").textContent);
const plural = new Intl.PluralRules(language);
const rows = new Intl.ListFormat(language);
const numbers = new Intl.NumberFormat(locale, { useGrouping: "always" });

const shares = new Intl.NumberFormat(locale, { style: "percent" });

/** A share of a hundred, as the server writes it. */
export function percent(share) {
  return shares.format(Math.floor(share + 0.5) / 100);
}

/** Things as the page's language lists them: "a, b, and c". */
export function inARow(things) {
  return rows.format(things);
}

export function hasText(name) {
  return Object.hasOwn(texts, name);
}

export function text(name, values = {}) {
  const entry = texts[name];
  const form = typeof entry === "string" ? entry : (entry[plural.select(values.count)] ?? entry.other);
  return form.replace(/\{(\w+)\}/g, (_match, key) =>
    typeof values[key] === "number" ? numbers.format(values[key]) : values[key],
  );
}
