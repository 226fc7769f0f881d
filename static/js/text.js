// The page's words in the reader's language; "{name}" stands for a value.
const texts = JSON.parse(document.getElementById("script-texts").textContent);
const locale = document.documentElement.lang;
const plural = new Intl.PluralRules(locale);
const numbers = new Intl.NumberFormat(locale);

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
