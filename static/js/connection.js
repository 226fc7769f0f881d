// The line at the composer that says whether the server is there, and what to do if not.
import { text } from "./text.js";

const line = document.getElementById("connection");
// A reconnection that is quicker than this goes unmentioned.
const PATIENCE = 700;
let timer = 0;

function show(words, link = null) {
  line.replaceChildren(words);
  if (link) line.append(" ", link);
  line.hidden = false;
}

export function showConnection(socket, signIn) {
  socket.addEventListener("frame", () => {
    clearTimeout(timer);
    timer = 0;
    line.hidden = true;
  });
  socket.addEventListener("offline", () => {
    timer ||= setTimeout(() => show(text("offline")), PATIENCE);
  });
  socket.addEventListener("expired", () => {
    const link = document.createElement("a");
    link.href = signIn;
    link.textContent = text("signIn");
    show(text("expired"), link);
  });
  socket.addEventListener("forbidden", () => show(text("notYours")));
}
