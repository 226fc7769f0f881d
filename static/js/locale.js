// The languages of the reader's browser, for numbers and moments.
function read() {
  try {
    return Intl.getCanonicalLocales(navigator.languages);
  } catch {
    // Some browsers without a desktop name one that their own formats refuse.
    return undefined;
  }
}

export const locale = read();
