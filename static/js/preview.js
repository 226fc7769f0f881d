// Previews: code that draws something, drawn in a frame that has neither this page's origin nor a network.
import { make } from "./elements.js";
import { fetchText } from "./source.js";
import { text } from "./text.js";
import { orSay } from "./toast.js";

const DARK = matchMedia("(prefers-color-scheme: dark)");
// Frame -> its block.
const frames = new Map();
// Mermaid's script, once it was needed.
let drawing = null;

const languageOf = ({ dataset }) => dataset.language;
const isDark = () => (document.documentElement.dataset.theme ?? (DARK.matches ? "dark" : "light")) === "dark";

/** Show the drawing instead of the code, or the code again. */
function draw(block, isDrawn) {
  const button = block.querySelector(".code-preview");
  block.classList.toggle("is-drawn", isDrawn);
  button.textContent = text(isDrawn ? "showCode" : "preview");
  block.querySelector("iframe")?.remove();
  for (const frame of frames.keys()) if (!frame.isConnected) frames.delete(frame);
  if (!isDrawn) return;
  const frame = make("iframe", { title: text("preview"), className: `drawing drawing-${languageOf(block)}` });
  frame.sandbox.add("allow-scripts");
  frame.src = document.getElementById("main").dataset.preview;
  frames.set(frame, block);
  block.querySelector(".code-bar").after(frame);
}

async function fill(frame, block) {
  const isDiagram = languageOf(block) === "mermaid";
  if (isDiagram) drawing ??= fetchText(document.getElementById("main").dataset.mermaid);
  const code = block.querySelector("pre").textContent;
  try {
    const script = isDiagram ? await drawing : "";
    // The frame has no origin that could be named.
    frame.contentWindow?.postMessage({ code, script, isDark: isDark() }, "*");
  } catch (error) {
    drawing = null;
    draw(block, false);
    throw error;
  }
}

addEventListener("message", ({ source, data }) => {
  const [frame, block] = [...frames].find(([one]) => one.contentWindow === source) ?? [];
  if (data === "ready" && frame) orSay(fill(frame, block));
  else if (frame && Number.isFinite(data)) frame.style.height = `${data}px`;
});
document.addEventListener("preview", ({ target, detail }) => draw(target, detail));
// A diagram has the colours of the page.
const redraw = () => [...frames].filter(([, block]) => languageOf(block) === "mermaid").forEach(([, block]) => draw(block, true));
DARK.addEventListener("change", redraw);
new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
