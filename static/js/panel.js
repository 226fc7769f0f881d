// Around the transcript: context bar, running condensation, notice; clocks that tick in them.
import { onEnter, parse } from "./elements.js";
import { foldsByYou, showMade } from "./folds.js";
import { local } from "./storage.js";
import { text } from "./text.js";
import { uuid } from "./uuid.js";

const head = document.getElementById("chat-head");
const bar = document.getElementById("context-bar");
const due = document.getElementById("due");
const condensing = document.getElementById("condensing");
const notice = document.getElementById("notice");
const condense = document.getElementById("condense");
const keep = document.getElementById("keep");

let last = {};
let ticking = 0;
// Whether a condensation was asked for, and nothing is known of it yet.
let asked = false;
// The folds by hand that were here when one was asked for on this page; null where none was. And what
// it was asked to keep.
let known = null;
let wish = "";
// By which a condensation is asked for.
let line = null;
// Seconds from this page's clock to the server's, in which its moments are given.
let ahead = 0;

function showBar(html) {
  const open = bar.querySelector("details")?.open;
  const focused = bar.contains(document.activeElement);
  const counts = bar.querySelector("[data-counts]")?.innerHTML;
  bar.innerHTML = html;
  const details = bar.querySelector("details");
  if (!details) return;
  // Until they are counted anew, the old ones stand.
  if (counts) bar.querySelector("[data-counts]").innerHTML = counts;
  window.htmx.process(bar);
  details.open = Boolean(open);
  if (focused) details.querySelector("summary").focus();
}

/** Where a button is replaced that was pressed, the focus goes on to what stands there now. */
function showDue(html) {
  const focused = due.contains(document.activeElement);
  due.innerHTML = html;
  if (!focused) return;
  const shown = [...due.querySelectorAll("button")].find((one) => one.checkVisibility());
  (shown ?? document.getElementById("message")).focus();
}

function isCondensing() {
  return condensing.querySelector("[data-elapsed]") !== null;
}

/** What somebody types stays where it is, whatever else is new of the same review. */
function keepsReview(html) {
  const shown = condensing.querySelector("[data-review]");
  const made = parse(html);
  if (!shown || shown.dataset.review !== made.querySelector("[data-review]")?.dataset.review) return false;
  shown.querySelector("#review-applies").replaceWith(made.querySelector("#review-applies"));
  return true;
}

function showCondensing(html) {
  if (keepsReview(html)) return;
  const focused = condensing.contains(document.activeElement);
  condensing.innerHTML = html;
  window.htmx.process(condensing);
  head.classList.toggle("is-condensing", isCondensing());
  if (focused) (condensing.querySelector("textarea, button") ?? document.getElementById("message")).focus();
}

/** The button keeps the focus, and says why, while it does nothing. */
function showWhetherItCan() {
  const tip = document.getElementById("condense-tip");
  const awaited = condensing.querySelector("strong, h2");
  tip.dataset.words ??= tip.textContent;
  if (isCondensing()) tip.textContent = text("condensingNow");
  else tip.textContent = awaited?.dataset.why ?? awaited?.textContent ?? tip.dataset.words;
  const cannot = awaited !== null || asked || tip.dataset.nothing !== undefined;
  condense.ariaDisabled = cannot;
  keep.querySelector("button").disabled = cannot;
}

function showNotice(html) {
  const open = notice.querySelector("details")?.open;
  notice.innerHTML = html;
  if (open) notice.querySelector("details")?.setAttribute("open", "");
}

/** Another tab may have chosen another, or removed the one that was chosen. */
function showProfile(chosen) {
  const isShown = document.getElementById("answered-by").dataset.profile === chosen;
  if (!isShown) document.body.dispatchEvent(new Event("profile-changed"));
}

/** Say how far the summary is. */
export function showWritten({ written }) {
  const place = condensing.querySelector("[data-written]");
  if (place) place.textContent = written;
}

/** Show the summary that somebody is to review, as far as it is written. */
export function showDraft({ draft }) {
  const place = condensing.querySelector("[data-draft]");
  if (!place) return;
  const atEnd = place.scrollTop + place.clientHeight >= place.scrollHeight - 8;
  place.value = draft;
  if (atEnd) place.scrollTop = place.scrollHeight;
}

/** The server's clock, in Unix seconds. */
export function serverNow() {
  return performance.now() / 1000 + ahead;
}

function showClocks() {
  const now = serverNow();
  if (isCondensing()) {
    const line = condensing.firstElementChild;
    const seconds = Math.max(0, Math.round(now - Number(line.dataset.since)));
    line.querySelector("[data-elapsed]").textContent = text("elapsed", { seconds });
  }
  const applies = condensing.querySelector("[data-applies]");
  if (applies) {
    const seconds = Math.max(0, Math.ceil(Number(applies.dataset.applies) - now));
    applies.textContent = seconds > 0 ? text("appliesIn", { seconds }) : "";
  }
  const countdown = notice.querySelector("[data-until]");
  if (countdown) {
    const seconds = Math.ceil(Number(countdown.dataset.until) - now);
    countdown.textContent = seconds > 0 ? text("tryingAgain", { seconds }) : "";
  }
}

export function showPanel(frame) {
  ahead = frame.now - performance.now() / 1000;
  asked = false;
  if (frame.bar !== last.bar) showBar(frame.bar);
  if (frame.due !== last.due) showDue(frame.due);
  if (frame.condensing !== last.condensing) showCondensing(frame.condensing);
  if (frame.notice !== last.notice) showNotice(frame.notice);
  if (frame.profile !== last.profile) showProfile(frame.profile);
  showWhetherItCan();
  last = frame;
  showWritten(frame);
  showDraft(frame);
  showClocks();
  clearInterval(ticking);
  if (frame.condensing || notice.querySelector("[data-until]")) ticking = setInterval(showClocks, 250);
}

/** Ask for a condensation of all, or of a scope, once, until the server has said something to it. */
function ask(focus, scope = {}) {
  const review = keep.elements.review.checked;
  const frame = { type: "condense.start", focus, review, nonce: uuid(), ...scope };
  if (asked || !line.send(frame)) return false;
  asked = true;
  known = foldsByYou();
  wish = focus;
  showWhetherItCan();
  return true;
}

/** Hear that nothing came of what was asked for: its words stay in the form. */
export function refusePanel() {
  if (asked) keep.elements.words.value ||= wish;
  asked = false;
  showWhetherItCan();
}

/** Show what came of what was asked for here, once its row is there. */
export function showFold(scroll) {
  const made = known && foldsByYou().find((id) => !known.includes(id));
  if (!made) return;
  known = null;
  if (keep.elements.words.value.trim() === wish) keep.reset();
  showMade(document.getElementById(made), scroll);
}

/** Condense as the button does; return why that can't be, "" where it was asked for. */
export function condenseNow(focus) {
  if (condense.ariaDisabled === "true") return document.getElementById("condense-tip").textContent;
  if (!ask(focus)) return text("tryLater");
  keep.hidePopover();
  document.getElementById("message").focus();
  // The pointer may rest on the button: it has said what it does.
  head.classList.add("is-quiet");
  return "";
}

/** `running` says which turn runs. */
export function startPanel(socket, running) {
  line = socket;
  // Words that are not sent yet are shown before anything is condensed without them.
  condense.addEventListener("click", () => (keep.elements.words.value ? keep.showPopover({ source: condense }) : condenseNow("")));
  keep.addEventListener("submit", (event) => {
    event.preventDefault();
    condenseNow(keep.elements.words.value.trim());
  });
  const { review } = keep.elements;
  // What is reset comes back to this.
  review.defaultChecked = local.get("review") === "on";
  review.addEventListener("change", () => {
    review.defaultChecked = review.checked;
    local.set("review", review.checked ? "on" : null);
  });
  onEnter(keep, () => keep.requestSubmit());
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-condense]")) ask("");
    const call = event.target.closest("[data-condense-call]")?.dataset;
    if (call) ask("", { first: Number(call.of), call: call.condenseCall });
    const again = event.target.closest("[data-condense-again]")?.dataset.condenseAgain;
    if (again) ask("", { first: Number(again), again: true });
    if (event.target.closest("[data-put-off]")) socket.send({ type: "condense.put_off" });
    if (event.target.closest("[data-cancel-condensing]")) socket.send({ type: "condense.cancel", turn: running() });
    const retry = event.target.closest("[data-retry]");
    if (retry) ask(retry.dataset.focus ?? "", JSON.parse(retry.dataset.scope ?? "{}"));
    const details = bar.querySelector("details[open]");
    if (details && (!details.contains(event.target) || event.target.closest(".context-actions > *"))) details.open = false;
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-scope]")) return;
    const { last, words } = event.target.elements;
    const scope = { first: Number(event.target.dataset.first), last: Number(last.value) };
    // The form closes its dialog by itself.
    if (!ask(words.value.trim(), scope)) event.preventDefault();
  });
  startTip();
}

/** What the button says of itself can be put away with Esc until it is pointed at again. */
function startTip() {
  document.addEventListener("keydown", ({ key }) => key === "Escape" && head.classList.add("is-quiet"));
  for (const event of ["pointerleave", "blur"]) {
    condense.addEventListener(event, () => {
      if (!condense.matches(":hover")) head.classList.remove("is-quiet");
    });
  }
}

/** Close the panel of the context bar; true when it was open. */
export function closeContext() {
  const details = bar.querySelector("details[open]");
  if (!details) return false;
  details.open = false;
  details.querySelector("summary").focus();
  return true;
}
