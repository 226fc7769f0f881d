// Built-in commands of a conversation, which its page carries out.
import { calledIn } from "./completions.js";
import { condenseNow } from "./panel.js";
import { text } from "./text.js";

/** Press a button of the page, wherever it is; false where it is not there. */
function press(selector) {
  const button = [...document.querySelectorAll(selector)].at(-1);
  button?.click();
  return Boolean(button);
}

const LAST_OWN = "#transcript > .message-user:not(.is-hidden) [hx-get*='rewind/preview']";

// Each returns why it can't be done, "" where it was.
const builtIn = {
  condense: (focus) => condenseNow(focus),
  rewind: () => (press(LAST_OWN) ? "" : text("nothingToRewind")),
  clear() {
    document.getElementById("again").requestSubmit();
    return "";
  },
  "export": () => (press("[data-export]") ? "" : text("unreachable")),
  help: () => (press("[data-help]") ? "" : text("unreachable")),
};

/** Carry out a built-in command: why it can't be is returned, "" if it was, null for other words. */
export function carryOut(words) {
  const called = calledIn(words);
  if (!called || !Object.hasOwn(builtIn, called.name)) return null;
  // Only one takes words; of any other, the server asks what is meant.
  return !called.rest || called.name === "condense" ? builtIn[called.name](called.rest) : null;
}
