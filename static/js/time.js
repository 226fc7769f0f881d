// Moments in the reader's zone and language.
const locale = navigator.language;
const styles = {
  full: new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }),
  time: new Intl.DateTimeFormat(locale, { timeStyle: "short" }),
};
const exact = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" });

function isToday(when) {
  return when.toDateString() === new Date().toDateString();
}

export function localizeTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]:not([data-done])")) {
    const when = new Date(element.dateTime);
    const style = element.dataset.style === "time" && isToday(when) ? "time" : "full";
    element.textContent = styles[style].format(when);
    element.title = exact.format(when);
    element.dataset.done = "";
  }
}
