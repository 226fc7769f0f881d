// Moments in the reader's zone, as the reader's browser writes them: so are the server's numbers.
import { locale } from "./text.js";

const styles = {
  full: new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }),
  // A day is the same one everywhere.
  day: new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" }),
  time: new Intl.DateTimeFormat(locale, { timeStyle: "short" }),
};
const exact = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "long" });

export function localizeTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]:not([data-done])")) {
    const when = new Date(element.dateTime);
    const isToday = when.toDateString() === new Date().toDateString();
    const style = element.dataset.style === "time" && !isToday ? "full" : element.dataset.style;
    element.textContent = styles[style].format(when);
    if (style !== "day") element.title = exact.format(when);
    element.dataset.done = "";
  }
}
