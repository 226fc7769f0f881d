// Storage that may be switched off or full: then nothing is remembered, `set` returns false, and nothing breaks.
function guarded(store) {
  return {
    get(key) {
      try {
        return store().getItem(key);
      } catch {
        return null;
      }
    },
    set(key, value) {
      try {
        if (value === null || value === "") store().removeItem(key);
        else store().setItem(key, value);
        return true;
      } catch {
        // Remembering is a convenience.
        return false;
      }
    },
  };
}

export const local = guarded(() => localStorage);
export const session = guarded(() => sessionStorage);
