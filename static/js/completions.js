// Completions of what is typed for short: commands after a slash, paths after "@".
import { fetchJson } from "./source.js";

const { commands: listed, paths } = document.querySelector("[data-commands]").dataset;

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
  async find(word) {
    const found = await fetchJson(`${paths}?q=${encodeURIComponent(word.replace(/^"/, ""))}`);
    return found.paths.map(({ path, mention, folder }) => ({
      label: path,
      // In a folder one may go on, before the quotes are closed.
      insert: folder ? mention : `${mention} `,
      back: Number(folder && mention.endsWith('"')),
    }));
  },
};

/** The command that words call, and what stands after its name; null for other words. */
export function calledIn(words) {
  const [, name, rest = ""] = /^\s*\/([\w-]+)(?:\s+([^]*))?$/.exec(words) ?? [];
  return name ? { name: name.toLowerCase(), rest: rest.trim() } : null;
}
