// The composer: keeps the text, and what was sent, until the server has it; a nonce makes a repeat
// harmless.
import { Attachments } from "./attachments.js";
import { onEnter } from "./elements.js";
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
  #attachments;
  #socket;
  // The command that was sent and not answered yet.
  #pending = null;
  #isOver = false;
  // Whether the browser keeps what is unsent.
  #isKept = true;
  #onSend;
  #longest;
  // What goes on, as the server says it, and whether Enter was pressed in vain meanwhile.
  #news = "";
  #refused = false;
  // What is said of an unsent message where the line is known to be lost.
  #lost = "";
  // Why what was typed is not sent as it is, and the text that was not understood.
  #hint = "";
  #unclear = null;
  #carryOut;
  #sent;
  #nonce;
  // The one that was stopped, until it is.
  #stopping = "";
  turn = "";

  /** `carryOut` does what a built-in command says, and answers as in commands.js. */
  constructor(socket, onSend, carryOut) {
    this.#socket = socket;
    this.#onSend = onSend;
    this.#carryOut = carryOut;
    this.#longest = Number(this.#form.dataset.longest);
    this.key = `unsent-${this.#form.dataset.conversation}`;
    this.#attachments = new Attachments(this.#box, () => {
      this.#refused &&= this.running || this.#attachments.isComing;
      this.#refresh();
    });
    this.#restore();
    addEventListener("beforeunload", (event) => this.#isKept || event.preventDefault());
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    onEnter(this.#box, () => this.submit());
    this.#box.addEventListener("input", () => {
      this.#refused = false;
      this.#hint = "";
      this.#refresh();
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
    const { ids, isComing } = this.#attachments;
    const isEmpty = !words.trim() && !ids.length && !isComing;
    if (isEmpty || this.#cannot || this.#isDone(words) || this.#excess(words)) return;
    if (isComing) {
      this.#refused = true;
      this.#say();
      return;
    }
    const literal = words === this.#unclear;
    const command = { type: "message.send", text: words, attachments: ids, queued: true, literal };
    // What was refused may have been stored: sent again as it is, it has the same nonce.
    const sent = JSON.stringify([words, ids]);
    if (this.#sent !== sent) this.#nonce = uuid();
    this.#sent = sent;
    this.#post({ ...command, nonce: this.#nonce });
  }

  /** Go on writing what was begun in a row that is gone, behind what stands here. */
  takeUp(words) {
    this.#box.value = `${this.#box.value}\n\n${words}`.trim();
    this.#remember();
    this.#buttons();
    this.#box.focus();
    toast(text("editedIsGone"));
  }

  /** Whether the words are a built-in command, which is carried out, or cannot be now. */
  #isDone(words) {
    const problem = this.#carryOut(words);
    if (problem === null) return false;
    if (!problem) this.#box.value = "";
    this.#hint = problem;
    this.#refresh();
    return true;
  }

  /** Send an edit of an earlier message; unless it stands alone, it keeps what is attached to it. */
  replace(seq, words, { alone, drops }) {
    if (this.#cannot || !this.canSend() || (alone && !words.trim())) return false;
    const excess = this.#excess(words);
    if (excess) toast(excess, "error");
    else this.#post({ type: "message.send", text: words, nonce: uuid(), replaces: seq, drops });
    return !excess;
  }

  /** Begin a turn without a message of one's own: try again, continue, reply anew. */
  begin(command) {
    if (!this.#cannot) this.#post({ ...command, nonce: uuid() });
  }

  /** Whether a message can be sent now; where it can't, the line below says why. */
  canSend() {
    this.#refused = this.running;
    this.#say();
    return !this.running;
  }

  /** Say nothing of what goes on while nobody can know it. */
  showLine(unsent) {
    this.#lost = unsent;
    this.#say();
  }

  /** Send again what the server may not have: it knows the nonce. */
  resend() {
    if (this.#pending) this.#post(this.#pending);
    else if (this.#form.dataset.send !== undefined) this.#sendPrompt();
    if (this.#stopping) this.stop();
  }

  accepted(nonce) {
    if (this.#pending?.nonce !== nonce) return;
    const { text: words, attachments } = this.#pending;
    if (this.#isTyped && this.#box.value === words) this.#box.value = "";
    if (this.#isTyped) this.#attachments.clear(attachments);
    this.#sent = "";
    this.#settle();
  }

  /** Keep the text; where it is `unclear` for a reason, it is sent as it is next time. */
  refused(nonce, unclear = "") {
    if (!nonce || this.#pending?.nonce !== nonce) return;
    const { text: words } = this.#pending;
    if (unclear && this.#isTyped) {
      this.#unclear = words;
      this.#hint = unclear;
    }
    // An edit that was refused is not lost either, whatever stands here.
    if (words && !this.#box.value.includes(words)) this.#box.value = `${this.#box.value}\n\n${words}`.trim();
    this.#settle();
  }

  /** Nothing runs here any more, and nothing can be sent: the conversation is gone. */
  end() {
    this.#isOver = true;
    this.refused(this.#pending?.nonce);
    this.show("", "");
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

  /** Whether nothing can be sent now: one command is on its way, or none will ever arrive. */
  get #cannot() {
    return this.#pending || this.#isOver;
  }

  /** Whether what was sent is what stands in the box, and no edit of an earlier message. */
  get #isTyped() {
    return this.#pending?.type === "message.send" && this.#pending.replaces === undefined;
  }

  #post(command) {
    this.#pending = command;
    this.#hint = "";
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
    if (this.#pending) return text(this.#socket.isOpen ? "sending" : this.#lost || "notSent");
    const problem = this.#excess(this.#box.value) || this.#hint;
    if (problem || this.#lost) return problem;
    if (!this.#refused) return this.#news;
    if (this.#attachments.isComing) return text("stillUploading");
    return text(this.#condensing.querySelector("[data-elapsed]") ? "stillCondensing" : "stillRunning");
  }

  #say() {
    const words = this.#words();
    // Written anew, the same words would be read out again.
    if (this.#status.textContent !== words) this.#status.textContent = words;
    this.#status.classList.toggle("is-past", words === this.#news && !this.running);
    const refused = this.#refused || this.#excess(this.#box.value) || this.#hint;
    this.#status.classList.toggle("is-refusal", Boolean(refused));
  }

  /** Say what can be done with what is written and attached, and keep it. */
  #refresh() {
    this.#say();
    this.#buttons();
    this.#remember();
  }

  #settle() {
    const hadFocus = document.activeElement === this.#send;
    this.#pending = null;
    if (!this.running) this.#news = "";
    this.#refresh();
    if (hadFocus) this.#box.focus();
  }

  #buttons() {
    const had = [this.#send, this.#stop].includes(document.activeElement);
    // While something runs, what is sent waits for its end.
    this.#send.hidden = this.running && !this.#box.value.trim() && !this.#attachments.ids.length;
    this.#stop.hidden = !this.running;
    this.#send.ariaDisabled = Boolean(this.#pending);
    if (had) this.#box.focus();
  }

  async #sendPrompt() {
    delete this.#form.dataset.send;
    const { nonce, attachments } = this.#form.dataset;
    const ids = attachments ? attachments.split(" ") : [];
    const words = this.#box.value;
    if ((!ids.length && !words.trim()) || this.#excess(words)) return;
    await this.#attachments.restore(ids);
    if (!this.#pending) this.#post({ type: "message.send", text: words, nonce, attachments: ids, queued: true });
  }

  #stored() {
    try {
      return JSON.parse(session.get(this.key));
    } catch {
      return null;
    }
  }

  #remember() {
    const unsent = { text: this.#box.value, attachments: this.#attachments.ids, pending: this.#pending };
    const isEmpty = !unsent.text && !unsent.attachments.length && !unsent.pending;
    this.#isKept = session.set(this.key, isEmpty ? null : JSON.stringify(unsent));
  }

  async #restore() {
    const unsent = this.#stored();
    if (!this.#box.value && unsent?.text) this.#box.value = unsent.text;
    this.#pending = unsent?.pending ?? null;
    if (!unsent?.attachments?.length) return;
    await this.#attachments.restore(unsent.attachments);
    // Those that are gone may have been sent.
    this.#remember();
    this.#say();
  }
}
