// A range to condense: its end is chosen in its bar or by a click on a message, and a brace shows it.
const bar = document.getElementById("range");
const transcript = document.getElementById("transcript");

const ends = () => bar.querySelector("select");
const rows = () => [...transcript.querySelectorAll(".message[data-seq]:not(.is-hidden)")];
const seqOf = ({ dataset }) => Number(dataset.seq);
const first = () => Number(bar.querySelector("form").dataset.first);

/** The rows from the first message to the chosen end; results stand in the row of their calls. */
function chosen() {
  const all = rows();
  const from = all.findIndex((row) => seqOf(row) === first());
  const to = all.findLastIndex((row, place) => place >= from && seqOf(row) <= Number(ends().value));
  return from < 0 ? [] : all.slice(from, Math.max(from, to) + 1);
}

function mark() {
  const inside = ends() ? chosen() : [];
  for (const row of transcript.querySelectorAll(".in-range")) row.classList.remove("in-range", "range-first", "range-last");
  for (const row of inside) row.classList.add("in-range");
  inside.at(0)?.classList.add("range-first");
  inside.at(-1)?.classList.add("range-last");
  transcript.classList.toggle("is-picking", Boolean(ends()));
  return inside;
}

function say() {
  bar.querySelector("#range-line").textContent = ends().selectedOptions[0].dataset.line;
  return mark();
}

function close() {
  const [row] = chosen();
  bar.replaceChildren();
  mark();
  const shown = [...(row?.querySelectorAll(".message-foot button") ?? [])].find((one) => one.checkVisibility());
  (shown ?? document.getElementById("message")).focus();
}

function open() {
  say();
  ends().focus({ preventScroll: true });
  bar.querySelector("form").scrollIntoView({ block: "nearest" });
}

/** Choose the end that a message is part of; one before the first, or not read yet, is none. */
function pick(row) {
  const all = rows();
  const next = all[all.indexOf(row) + 1];
  const options = [...ends().options].filter(({ value }) => Number(value) >= seqOf(row));
  const [end] = options.filter(({ value }) => !next || Number(value) < seqOf(next)).reverse().concat(options);
  if (!end || seqOf(row) < first()) return;
  ends().value = end.value;
  say();
}

transcript.addEventListener("click", ({ target }) => {
  const row = target.closest(".message[data-seq]:not(.is-hidden)");
  if (ends() && row && !target.closest("a, button, summary, input, textarea, select") && getSelection().isCollapsed) pick(row);
});
bar.addEventListener("change", ({ target }) => {
  if (target === ends()) say().at(-1)?.scrollIntoView({ block: "nearest" });
});
bar.addEventListener("click", ({ target }) => target.closest("[data-range-close]") && close());
bar.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  event.stopPropagation();
  close();
});
// Whoever asks for the condensation refuses what can't begin.
document.addEventListener("submit", (event) => {
  if (event.target.id === "range-form" && !event.defaultPrevented) close();
});
document.body.addEventListener("htmx:afterSettle", ({ detail }) => (detail.target === bar ? open() : ends() && mark()));
if (ends()) open();
