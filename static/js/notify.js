// Notifications, if the user wants them: a turn ended, or waits, and nobody looks at the page.
import { local } from "./storage.js";

export function wantsNotifications() {
  return local.get("notify") === "on" && globalThis.Notification?.permission === "granted";
}

async function registered() {
  const [registration] = (await navigator.serviceWorker?.getRegistrations()) ?? [];
  return registration;
}

/** Tell what a hidden page would show; the same `key` is told once, however many tabs are open. */
export async function notify(key, title, body) {
  if (!document.hidden || !wantsNotifications()) return;
  const worker = (await registered())?.active;
  worker?.postMessage({ key, title, body, path: location.pathname });
}

/** Take back what was told of this page, once it is looked at. */
export function startNotifications() {
  document.addEventListener("visibilitychange", async () => {
    if (document.hidden || !wantsNotifications()) return;
    const told = await (await registered())?.getNotifications({ tag: location.pathname });
    // By now it may be hidden again, and there be news that nobody has seen.
    if (!document.hidden) told?.forEach((one) => one.close());
  });
}
