// The composer: keeps the text until the server has it, and the nonce that makes a repeat harmless.
import { session } from "./storage.js";
import { text } from "./text.js";
import { toast } from "./toast.js";
import { uuid } from "./uuid.js";

export class Composer {
  #form = document.getElementById("composer");
  #box = document.getElementById("message");
  #send = document.getElementById("send");
  #stop = document.getElementById("stop");
  #status = document.getElementById("status");
  #condensing = document.getElementById("condensing");
  #socket;
  #pending = null;
  #onSend;
  #longest;
  // What goes on, as the server says it, and whether Enter was pressed in vain meanwhile.
  #news = "";
  #refused = false;
  #lost = false;
  // The one that was stopped, until it is.
  #stopping = "";
  turn = "";

  constructor(socket, onSend) {
    this.#socket = socket;
    this.#onSend = onSend;
    this.#longest = Number(this.#form.dataset.longest);
    this.key = `draft-${this.#form.dataset.conversation}`;
    this.#restore();
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.#box.addEventListener("keydown", (event) => this.#typed(event));
    this.#box.addEventListener("input", () => {
      this.#refused = false;
      this.#say();
      this.#buttons();
      this.#remember();
    });
    this.#stop.addEventListener("click", () => this.stop());
    this.#box.focus();
  }

  get isEmpty() {
    return !this.#box.value;
  }

  focus() {
    this.#box.focus();
  }

  submit() {
    const words = this.#box.value;
    if (!words.trim() || this.#pending || this.#excess(words)) return;
    const draft = this.#stored();
    const nonce = draft?.nonce && draft.text === words ? draft.nonce : uuid();
    this.#post({ type: "message.send", text: words, nonce, queued: this.running }, this.#box);
  }

  /** Go on writing what was begun elsewhere; false where something else is being written. */
  takeUp(words) {
    if (!this.isEmpty) return false;
    this.#box.value = words;
    this.#remember();
    this.#buttons();
    this.#box.focus();
    return true;
  }

  /** Send an edit of an earlier message; ``box`` holds its text until it is accepted. */
  replace(seq, words) {
    if (this.#pending || !this.canSend() || !words.trim()) return false;
    const excess = this.#excess(words);
    if (excess) toast(excess, "error");
    if (excess) return false;
    this.#post({ type: "message.send", text: words, nonce: uuid(), replaces: seq }, null);
    return true;
  }

  /** Begin a turn without a message of one's own: try again, continue, answer anew. */
  begin(command) {
    if (!this.#pending) this.#post({ ...command, nonce: uuid() }, null);
  }

  /** Whether a message can be sent now; where it can't, the line below says why. */
  canSend() {
    this.#refused = this.running;
    this.#say();
    return !this.running;
  }

  /** Say nothing of what goes on while nobody can know it. */
  showLine(isLost) {
    this.#lost = isLost;
    this.#say();
  }

  /** Send again what the server may not have: it knows the nonce. */
  resend() {
    if (this.#pending) this.#post(this.#pending.command, this.#pending.box);
    else if (this.#form.dataset.send !== undefined) this.#sendPrompt();
    if (this.#stopping) this.stop();
  }

  accepted(nonce) {
    if (this.#pending?.command.nonce !== nonce) return;
    if (this.#pending.box && this.#box.value === this.#pending.command.text) this.#box.value = "";
    this.#settle();
    this.#remember();
  }

  refused(nonce) {
    if (!nonce || this.#pending?.command.nonce !== nonce) return;
    const { command, box } = this.#pending;
    // An edit that was refused is not lost either.
    if (!box && command.text && this.isEmpty) this.#box.value = command.text;
    this.#settle();
    this.#remember();
  }

  /** Say what goes on; `turn` is the id of the one that runs, if any. */
  show(words, turn) {
    this.turn = turn;
    this.#news = words;
    this.#refused &&= this.running;
    if (this.#stopping !== turn) this.#stopping = "";
    this.#say();
    document.body.classList.toggle("is-running", this.running);
    this.#buttons();
  }

  get running() {
    return Boolean(this.turn);
  }

  stop() {
    if (this.running && this.#socket.send({ type: "turn.stop", turn: this.turn })) this.#stopping = this.turn;
  }

  #post(command, box) {
    this.#pending = { command, box };
    this.#remember();
    this.#onSend();
    this.#buttons();
    this.#socket.send(command);
    this.#say();
  }

  /** What is wrong with a message that the server would not take, "" where nothing is. */
  #excess({ length }) {
    return length > this.#longest ? text("tooLong", { count: length, limit: this.#longest }) : "";
  }

  #words() {
    if (this.#pending) return text(this.#socket.isOpen ? "sending" : "notSent");
    const excess = this.#excess(this.#box.value);
    if (excess || this.#lost) return excess;
    if (!this.#refused) return this.#news;
    return text(this.#condensing.firstElementChild ? "stillCondensing" : "stillRunning");
  }

  #say() {
    const words = this.#words();
    // Written anew, the same words would be read out again.
    if (this.#status.textContent !== words) this.#status.textContent = words;
    const refused = this.#refused || this.#excess(this.#box.value);
    this.#status.classList.toggle("is-refusal", Boolean(refused));
  }

  #settle() {
    const hadFocus = document.activeElement === this.#send;
    this.#pending = null;
    if (!this.running) this.#news = "";
    this.#say();
    this.#buttons();
    if (hadFocus) this.#box.focus();
  }

  #buttons() {
    const had = [this.#send, this.#stop].includes(document.activeElement);
    // While something runs, what is sent waits for its end.
    this.#send.hidden = this.running && !this.#box.value.trim();
    this.#stop.hidden = !this.running;
    this.#send.setAttribute("aria-disabled", String(Boolean(this.#pending)));
    if (had) this.#box.focus();
  }

  #sendPrompt() {
    delete this.#form.dataset.send;
    if (this.#box.value.trim() && !this.#excess(this.#box.value)) {
      const { nonce } = this.#form.dataset;
      this.#post({ type: "message.send", text: this.#box.value, nonce }, this.#box);
    }
  }

  #typed(event) {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    this.submit();
  }

  #stored() {
    try {
      return JSON.parse(session.get(this.key));
    } catch {
      return null;
    }
  }

  #remember() {
    const waiting = this.#pending?.command;
    // An edit that was not accepted yet is kept too, unless something else is being written.
    const words = this.#box.value || waiting?.text;
    const draft = { text: words, nonce: words === waiting?.text ? waiting?.nonce : this.#keptNonce() };
    session.set(this.key, draft.text ? JSON.stringify(draft) : null);
  }

  #keptNonce() {
    const draft = this.#stored();
    return draft?.text === this.#box.value ? draft.nonce : undefined;
  }

  #restore() {
    const draft = this.#stored();
    if (!this.#box.value && draft?.text) this.#box.value = draft.text;
  }
}
