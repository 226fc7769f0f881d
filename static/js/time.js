// Moments in the reader's zone, written as the page's language writes them: so are its numbers, and
// a page that mixed two ways would leave it open whether 1.234 is a thousand or a little over one.
const locale = document.documentElement.lang;
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
