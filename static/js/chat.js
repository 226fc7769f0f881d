// A conversation's page: the socket's frames go to the parts that show them.
import { Composer } from "./composer.js";
import { showConnection } from "./connection.js";
import { Editing } from "./edit.js";
import { reveal } from "./folds.js";
import { closeContext, showPanel, showWritten, startPanel } from "./panel.js";
import { Scroll } from "./scroll.js";
import { shortcutsAreOn } from "./shortcuts.js";
import { Socket } from "./socket.js";
import { refreshTitle, startTitle } from "./title.js";
import { toast } from "./toast.js";
import { Transcript } from "./transcript.js";

const { url, signIn } = document.getElementById("composer").dataset;
const socket = new Socket(url);
const scroll = new Scroll();
const transcript = new Transcript(scroll);
const composer = new Composer(socket, () => scroll.toEnd());
const editing = new Editing(composer, scroll);

const show = {
  async snapshot(frame) {
    composer.show(frame.status, frame.running);
    showPanel(frame.panel);
    composer.resend();
    transcript.settle(frame.articles.map(({ id }) => id));
    if (frame.revision !== transcript.revision) await transcript.refetch();
    for (const { id, html } of frame.articles) transcript.upsert(id, html);
  },
  "article.upserted": ({ id, html }) => transcript.upsert(id, html),
  "article.removed": ({ id }) => transcript.remove(id),
  "text.streamed": (frame) => transcript.stream(frame),
  "code.streamed": (frame) => transcript.streamCode(frame),
  "transcript.changed": ({ revision }) => revision === transcript.revision || transcript.refetch(),
  "panel.changed": showPanel,
  "condensing.progressed": showWritten,
  "status.changed"({ text, running }) {
    composer.show(text, running);
  },
  "message.accepted"({ nonce }) {
    composer.accepted(nonce);
    refreshTitle();
  },
  refused({ reason, nonce }) {
    toast(reason, "error");
    composer.refused(nonce);
  },
};

// Frames are shown in order: one that waits for the transcript holds the next ones back.
let queue = Promise.resolve();
socket.addEventListener("frame", ({ detail }) => {
  queue = queue.then(() => show[detail.type]?.(detail)).catch((error) => console.error(error));
});

function goTo(id) {
  const row = document.getElementById(id);
  if (!row) return false;
  reveal(row);
  row.closest(".rewound")?.closest("details").setAttribute("open", "");
  scroll.read();
  row.scrollIntoView({ block: "start" });
  row.setAttribute("tabindex", "-1");
  row.focus({ preventScroll: true });
  return true;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-jump], .margin-line a");
  const id = link && (link.dataset.jump ?? link.hash.slice(1));
  if (id && goTo(id)) event.preventDefault();
  const menu = event.target.closest(".actions:popover-open");
  // Copying says in the menu that it worked.
  if (menu && event.target.closest("button:not([data-copy], [popovertarget])")) menu.hidePopover();
  const more = event.target.closest("[data-show-all]");
  if (more) {
    more.closest(".tool-result").classList.remove("is-cut");
    more.remove();
  }
});

document.addEventListener("keydown", (event) => {
  if (event.isComposing || document.querySelector("dialog[open], :popover-open")) return;
  if (event.key === "Escape") {
    if (closeContext() || editing.cancel()) return;
    if (shortcutsAreOn()) composer.stop();
  }
  const plain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey;
  const inComposer = event.target.id === "message" && composer.isEmpty;
  if (event.key === "ArrowUp" && plain && inComposer && shortcutsAreOn() && editing.startLast()) {
    event.preventDefault();
  }
});

document.body.addEventListener("transcript-changed", () => transcript.refetch());

startTitle();
startPanel(socket);
showConnection(socket, signIn);
if (!location.hash || !goTo(location.hash.slice(1))) scroll.toEnd();
socket.open();
