// What a copy does by itself: moments as the reader writes them, code to copy, light or dark.
(() => {
  const root = document.documentElement;
  const words = document.body.dataset;

  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of document.querySelectorAll("time")) time.textContent = format.format(new Date(time.dateTime));

  const addButton = (place, text, work) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = text;
    button.addEventListener("click", () => work(button));
    place.prepend(button);
    return button;
  };

  for (const block of document.querySelectorAll(".code-block")) {
    const copy = addButton(block, words.copyCode, () => {
      // Works on a page without TLS too, and in a file.
      getSelection().selectAllChildren(block.querySelector("pre"));
      if (!document.execCommand("copy")) return;
      getSelection().removeAllRanges();
      copy.textContent = words.copied;
      setTimeout(() => (copy.textContent = words.copyCode), 1600);
    });
    copy.className = "code-copy";
  }

  const dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
  const label = (button) => (button.textContent = isDark() ? words.light : words.dark);
  const toggle = (button) => {
    root.dataset.theme = isDark() ? "light" : "dark";
    label(button);
  };
  label(addButton(document.querySelector(".copy-head"), "", toggle));
})();
