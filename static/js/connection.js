// The line at the composer: whether the server is there, what was asked for in vain, what to do.
import { make } from "./elements.js";
import { text } from "./text.js";
import { loadAnew } from "./typed.js";

const line = document.getElementById("connection");
// A reconnection that is quicker than this goes unmentioned.
const PATIENCE = 700;
// That the connection is back is news for this long.
const NEWS = 8000;
// Seconds until the next try: the page came, and its line has failed so often that something stops it.
const MANY = 3;
// A message is not among these: the composer keeps it and sends it by itself.
const UNDONE = {
  "condense.start": "notCondensed",
  "condense.put_off": "notPutOff",
  "condense.cancel": "notCancelled",
  "turn.stop": "notStopped",
};

let state = [];
let said = "";
let undone = "";
let advice = text("tryLater");
let timer = 0;

function show() {
  const words = [...state, ...(undone ? [undone, advice] : [])].filter(Boolean);
  // Written anew, the same words would be read out again.
  if (said === (said = String(words))) return;
  line.replaceChildren(...words.flatMap((word) => [word, " "]));
  line.hidden = !words.length;
}

function become(words, hint = text("tryLater")) {
  clearTimeout(timer);
  timer = 0;
  state = words;
  advice = hint;
  show();
}

function forget() {
  undone = "";
  become([]);
}

function back() {
  if (!undone) return become([]);
  become([text("backAgain")], text("tryNow"));
  timer = setTimeout(forget, NEWS);
  return undefined;
}

/** `tell` hears what is said of an unsent message while the line is known to be lost, "" while it is not. */
export function showConnection(socket, signIn, tell) {
  let isLost = true;
  let isNew = true;
  let isOver = false;
  const lose = (words, hint, unsent = "notSent") => {
    // Nothing is to be tried again.
    isOver ||= hint === "";
    become(words, hint);
    tell(unsent);
  };
  socket.addEventListener("frame", () => {
    // Its forms are those of the session before.
    if (isOver) return loadAnew();
    if (!isLost) return;
    isLost = isNew = false;
    back();
    tell("");
  });
  socket.addEventListener("offline", ({ detail: wait }) => {
    isLost = true;
    const words = [text(isNew && wait > MANY ? "blocked" : "offline")];
    if (undone) lose(words);
    else timer ||= setTimeout(() => lose(words), PATIENCE);
  });
  socket.addEventListener("expired", () => lose([text("expired"), make("a", { href: signIn }, text("signIn"))], "", "unsentYet"));
  socket.addEventListener("forbidden", () => lose([text("notYours")], ""));
  socket.addEventListener("unsent", ({ detail }) => {
    if (!UNDONE[detail]) return;
    undone = text(UNDONE[detail]);
    show();
  });
  socket.addEventListener("sent", () => undone && forget());
}
