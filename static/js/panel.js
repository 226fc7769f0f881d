// Around the transcript: context bar, the condensing band, the notice; clocks that tick in them.
const bar = document.getElementById("context-bar");
const condensing = document.getElementById("condensing");
const notice = document.getElementById("notice");
const condense = document.getElementById("condense");

let last = { bar: null, condensing: null, notice: null };
let ticking = 0;

function showBar(html) {
  const open = bar.querySelector("details")?.open;
  const focus = bar.querySelector("#focus");
  // Someone who types in it must not lose the field.
  if (open && focus === document.activeElement) return;
  const words = focus?.value ?? "";
  const focused = bar.contains(document.activeElement);
  bar.innerHTML = html;
  const details = bar.querySelector("details");
  if (!details) return;
  details.open = Boolean(open);
  details.querySelector("#focus").value = words;
  if (focused) details.querySelector("summary").focus();
}

function showCondensing(html) {
  const focused = condensing.contains(document.activeElement);
  const band = condensing.firstElementChild;
  condensing.innerHTML = html;
  const fresh = condensing.firstElementChild;
  condense.disabled = Boolean(fresh);
  if (fresh) fresh.dataset.since = String(performance.now() - Number(fresh.dataset.elapsed) * 1000);
  if (band && fresh) showSeconds();
  if (focused) (condensing.querySelector("button") ?? document.getElementById("message")).focus();
}

function showSeconds() {
  const band = condensing.firstElementChild;
  if (band) {
    const seconds = Math.max(0, (performance.now() - Number(band.dataset.since)) / 1000);
    band.querySelector("[data-seconds]").textContent = Math.round(seconds);
  }
  const countdown = notice.querySelector("[data-countdown]");
  if (countdown) {
    const left = Math.max(0, Number(countdown.dataset.until) - performance.now()) / 1000;
    countdown.textContent = countdown.dataset.words.replace(/\d+/, Math.ceil(left));
    countdown.hidden = !left;
  }
}

function showNotice(html) {
  const open = notice.querySelector("details")?.open;
  notice.innerHTML = html;
  if (open) notice.querySelector("details")?.setAttribute("open", "");
  const countdown = notice.querySelector("[data-countdown]");
  if (!countdown) return;
  countdown.dataset.until = String(performance.now() + Number(countdown.dataset.countdown) * 1000);
  countdown.dataset.words = countdown.textContent;
}

export function showPanel(frame) {
  if (frame.bar !== last.bar) showBar(frame.bar);
  if (frame.condensing !== last.condensing) showCondensing(frame.condensing);
  if (frame.notice !== last.notice) showNotice(frame.notice);
  last = frame;
  clearInterval(ticking);
  if (frame.condensing || frame.notice) ticking = setInterval(showSeconds, 250);
}

export function startPanel(socket) {
  condense.addEventListener("click", () => {
    socket.send({ type: "condense.start" });
    document.getElementById("message").focus();
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-cancel-condensing]")) socket.send({ type: "condense.cancel" });
    const retry = event.target.closest("[data-retry]");
    if (retry) socket.send({ type: "condense.start", focus: retry.dataset.focus ?? "" });
    const details = bar.querySelector("details[open]");
    if (details && !details.contains(event.target)) details.open = false;
  });
  document.addEventListener("submit", (event) => {
    if (!event.target.matches("[data-focus-form]")) return;
    event.preventDefault();
    socket.send({ type: "condense.start", focus: event.target.focus.value.trim() });
    event.target.reset();
    bar.querySelector("details").open = false;
    document.getElementById("message").focus();
  });
}

/** Close the panel of the context bar; true when it was open. */
export function closeContext() {
  const details = bar.querySelector("details[open]");
  if (!details) return false;
  details.open = false;
  details.querySelector("summary").focus();
  return true;
}
