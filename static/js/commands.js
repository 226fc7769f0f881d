// What can be typed for short: built-in commands are carried out here, the rest is completed.
import { condenseNow } from "./panel.js";
import { text } from "./text.js";

const { commands: listed, paths } = document.getElementById("composer").dataset;

async function fetchJson(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } });
  if (!answer.ok || answer.redirected) throw new Error(`The server answered ${answer.status}.`);
  return answer.json();
}

const ABOUT = 100; // characters that stand for a command without a description

/** Completes a slash command, which is the first word of a message. */
export const commandSource = {
  isQuick: true,
  known: null,
  match(before) {
    const word = /^\s*\/([\w-]*)$/.exec(before)?.[1] ?? null;
    // They may have changed since they were asked for.
    if (word === null) this.known = null;
    return word;
  },
  length: (word) => word.length + 1,
  async find(word) {
    this.known ??= fetchJson(listed).catch((error) => {
      this.known = null;
      throw error;
    });
    const { commands } = await this.known;
    const wanted = word.toLowerCase();
    const fitting = commands.filter(({ name }) => name.includes(wanted));
    const first = ({ name }) => Number(!name.startsWith(wanted));
    return fitting
      .toSorted((one, other) => first(one) - first(other))
      .map(({ name, hint, description, text: preview }) => ({
        label: `/${name}`,
        insert: `/${name} `,
        hint,
        about: description || preview?.split("\n")[0].slice(0, ABOUT),
        preview,
      }));
  },
};

const MENTION = /(?:^|[\s([{<"'“‘,;:])@("[^"\n]*|[^\s"@]*)$/u;

/** Completes a path of the workspace after "@". */
export const pathSource = {
  match: (before) => MENTION.exec(before)?.[1] ?? null,
  length: (word) => word.length + 1,
  async find(word) {
    const answer = await fetchJson(`${paths}?q=${encodeURIComponent(word.replace(/^"/, ""))}`);
    return answer.paths.map(({ path, mention, folder }) => ({
      label: path,
      // In a folder one may go on, before the quotes are closed.
      insert: folder ? mention : `${mention} `,
      back: Number(folder && mention.endsWith('"')),
    }));
  },
};

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
  const [, name, rest] = /^\s*\/([\w-]+)(?:\s+([^]*))?$/.exec(words) ?? [];
  const known = name?.toLowerCase();
  const said = rest?.trim() ?? "";
  // Only one takes words; of any other, the server asks what is meant.
  const isMeant = Object.hasOwn(builtIn, known ?? "") && (!said || known === "condense");
  return isMeant ? builtIn[known](said) : null;
}
