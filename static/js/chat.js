// A conversation's page: the socket's frames go to the parts that show them.
import { nameOfTab, refreshTitle, showOutput, showWaiting, startActivity } from "./activity.js";
import { Changes } from "./changes.js";
import { carryOut } from "./commands.js";
import { commandSource, pathSource } from "./completions.js";
import { Composer } from "./composer.js";
import { showConnection } from "./connection.js";
import { Editing } from "./edit.js";
import { Find } from "./find.js";
import { showTour, startViews } from "./folds.js";
import { closeInspector, refreshInspector, startInspector } from "./inspector.js";
import { notify, startNotifications } from "./notify.js";
import { startOriginals } from "./originals.js";
import { closeContext, refusePanel, showDraft, showFold, showPanel, showWritten, startPanel } from "./panel.js";
import { startPicker } from "./picker.js";
import { startPinning } from "./pins.js";
import { goToPlace } from "./places.js";
import { showQuestion, startQuestions } from "./questions.js";
import { Queue } from "./queue.js";
import { Scroll } from "./scroll.js";
import { shortcutsAreOn } from "./shortcuts.js";
import { Suggestions } from "./suggestions.js";
import { Socket } from "./socket.js";
import { orSay, refuse, toast } from "./toast.js";
import { refreshList } from "./sidebar.js";
import { startTodo, tellOfList } from "./todo.js";
import { Transcript } from "./transcript.js";

const { url, signIn } = document.getElementById("composer").dataset;
const changes = new Changes(showInOrder, () => socket.open());
const socket = new Socket(url, () => changes.place);
const scroll = new Scroll(toLatest);
const transcript = new Transcript(scroll);
const go = (id, at, focus) => goToPlace(transcript, scroll, id, at, focus);
const composer = new Composer(socket, toLatest, carryOut);
const editing = new Editing(composer, scroll);
const queue = new Queue(socket, composer);

// A card of the tool that keeps the to-do list.
const LIST = 'data-tool="update_todo_list"';

const show = {
  async snapshot(frame) {
    tellIfHidden(frame.status, frame);
    composer.show(frame.status, frame.turn);
    showWaiting(frame.waits);
    showPanel(frame.panel);
    queue.show(frame.queue);
    composer.resend();
    transcript.settle(frame.articles.map(({ id }) => id));
    if (frame.revision !== transcript.revision) {
      tellOfList();
      await transcript.refetch();
    }
    for (const { id, html } of frame.articles) transcript.upsert(id, html);
    for (const one of frame.streamed) transcript.stream(one, true);
  },
  "list.changed": refreshList,
  "title.changed": refreshTitle,
  resumed: () => composer.resend(),
  "article.upserted"({ id, html }) {
    transcript.upsert(id, html);
    if (html.includes(LIST)) tellOfList();
    showQuestion(scroll);
  },
  "article.removed": ({ id }) => transcript.remove(id),
  "text.streamed": (frame) => transcript.stream(frame),
  "code.streamed": (frame) => transcript.streamCode(frame),
  async "transcript.changed"({ revision }) {
    tellOfList();
    refreshInspector();
    if (revision !== transcript.revision) await transcript.refetch();
    showFold(scroll);
  },
  "panel.changed": showPanel,
  "queue.changed": ({ html }) => queue.show(html),
  "condensing.progressed": showWritten,
  "draft.streamed": showDraft,
  "tool.progressed": (frame) => scroll.keep(() => showOutput(frame)),
  "status.changed"(frame) {
    tellIfHidden(frame.text, frame);
    const isOver = composer.turn && !frame.turn;
    composer.show(frame.text, frame.turn);
    if (frame.turn && document.querySelector("#title[data-untitled]")) refreshTitle();
    showWaiting(frame.waits);
    if (!isOver) return;
    refreshInspector();
    // What was refused while it ran may be done now.
    for (const one of transcript.root.querySelectorAll(".refusal")) one.remove();
    showTour(scroll);
  },
  "message.accepted"({ nonce }) {
    composer.accepted(nonce);
    queue.accepted(nonce);
  },
  noted: (frame) => toast(frame.text),
  refused({ reason, nonce, unclear }) {
    if (!unclear) refuse(reason);
    composer.refused(nonce, unclear ? reason : "");
    if (unclear) queue.refused(nonce, reason);
    refusePanel();
  },
};

/** Notify of what ended, or waits, since the last frame. */
function tellIfHidden(words, { turn, waits }) {
  const before = composer.turn;
  if (waits || (before && before !== turn)) notify(`${before || turn} ${words}`, nameOfTab(), words);
}

// Frames are shown in order: one that waits for the transcript holds the next ones back. Whatever
// fetches rows waits in the same line, so that none is replaced by an older state.
let last = Promise.resolve();

function inOrder(work) {
  const done = last.then(work);
  last = done.catch((error) => console.error(error));
  return done;
}

function showInOrder(frame) {
  return inOrder(() => show[frame.type]?.(frame));
}

socket.addEventListener("line", () => changes.begin());
socket.addEventListener("frame", ({ detail }) => {
  changes.take(detail);
  // What was sent and not answered may not have arrived; the server takes it once.
  if (detail.type === "pong") composer.resend();
});
socket.addEventListener("forbidden", () => {
  composer.end();
  transcript.end();
  showWaiting(false);
});

async function toLatest() {
  if (transcript.goesOn) await orSay(inOrder(() => transcript.showLatest()));
  scroll.toEnd();
}

/** Go where an address leads in this conversation: its hash names a row, `at` a place. */
function goTo({ hash, search }) {
  return inOrder(() => go(hash.slice(1), new URLSearchParams(search).get("at")));
}

const find = new Find(scroll, (at) => inOrder(() => go("", at, false)));

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-jump], .margin-line a");
  if (link) {
    event.preventDefault();
    closeInspector({ onlyDrawer: true });
    goTo(link);
  }
  const again = event.target.closest("[data-command]");
  if (again) composer.begin({ type: again.dataset.command, seq: Number(again.dataset.of ?? 0) });
  const menu = event.target.closest(":is(.actions, .actions-rest, .menu):popover-open");
  // Copying says in the menu that it worked, a picker stands beside it, and a download leaves no page.
  const done = ".actions button:not([data-copy], [popovertarget], [data-again-with]), a[download]";
  if (menu && event.target.closest(done)) menu.hidePopover();
});

document.addEventListener("keydown", (event) => {
  if (document.querySelector("dialog[open], :popover-open")) return;
  if (event.key === "Escape") {
    if (closeContext() || closeInspector({ onlyDrawer: true }) || find.close()) return;
    if (queue.cancel() || editing.cancel()) return;
    // Who leaves an editor wants to lose nothing.
    if (event.target.closest("[data-review]")) return document.getElementById("message").focus();
    if (shortcutsAreOn()) composer.stop();
  }
  const plain = !event.shiftKey && !event.altKey && !event.ctrlKey && !event.metaKey;
  const inComposer = event.target.id === "message" && composer.isEmpty;
  if (event.key === "ArrowUp" && plain && inComposer && shortcutsAreOn()) {
    if (queue.editLast() || editing.startLast()) event.preventDefault();
  }
});

document.addEventListener("code-folded", ({ target }) => scroll.show(target));
document.body.addEventListener("transcript-changed", () => inOrder(() => transcript.refetch()));

new Suggestions([commandSource, pathSource]);
startActivity();
startOriginals();
startQuestions();
startNotifications();
startTodo();
startPinning();
startPicker((seq, profile) => composer.begin({ type: "turn.regenerate", seq, profile }));
startInspector();
startPanel(socket, () => composer.turn);
startViews(scroll);
showConnection(socket, signIn, (unsent) => {
  composer.showLine(unsent);
  document.body.classList.toggle("is-offline", unsent);
});
if (!(await goTo(location))) scroll.toEnd();
find.start(new URLSearchParams(location.search));
socket.open();
