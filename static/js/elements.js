// Elements that scripts make, and keys that finish what is typed into them.

const isRtl = document.dir === "rtl";
/** The arrow keys that go on and back, as one reads. */
export const ONWARD = isRtl ? "ArrowLeft" : "ArrowRight";
export const BACK = isRtl ? "ArrowRight" : "ArrowLeft";

/** Make an element: its properties, and what is in it. */
export function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

export function makeButton(className, words, act = null) {
  const button = make("button", { type: "button", className }, words);
  if (act) button.addEventListener("click", act);
  return button;
}

let records = null;

/** Load the styles of records and the inspector, once; resolve when they are there. */
export function loadRecords() {
  records ??= new Promise((resolve) => {
    document.head.append(make("link", { rel: "stylesheet", href: document.body.dataset.records, onload: resolve, onerror: resolve }));
  });
  return records;
}

/** Return what HTML says, as a fragment. */
export function parse(html) {
  const holder = document.createElement("template");
  holder.innerHTML = html;
  return holder.content;
}

/** Have Enter in a text area do what a button does; with Shift it begins a line. */
export function onEnter(box, act) {
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.target.type !== "textarea") return;
    event.preventDefault();
    act();
  });
}
