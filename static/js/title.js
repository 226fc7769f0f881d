// The title in the header and on the tab, as it is now.
import { nameTab } from "./activity.js";

/** A conversation names itself after its first message, may be `named` after its reply, or by a person. */
export async function refreshTitle({ named = false } = {}) {
  const heading = document.getElementById("title");
  if (heading.dataset.untitled === undefined && !named) return;
  // More news may come before the answer.
  delete heading.dataset.untitled;
  await window.htmx.ajax("GET", heading.getAttribute("hx-get"), { target: "#title", swap: "outerHTML" });
  window.htmx.trigger(document.body, "list-changed");
  nameTab(document.getElementById("title").textContent);
}
