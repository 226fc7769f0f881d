// The switch for notifications: for this browser only, which asks whether they are allowed.
import { wantsNotifications } from "./notify.js";
import { local } from "./storage.js";

const box = document.getElementById("notify");
const hint = document.getElementById("notify-hint");
const { worker, blocked, missing } = box.dataset;

async function allow() {
  await navigator.serviceWorker.register(worker);
  return (await Notification.requestPermission()) === "granted";
}

box.checked = wantsNotifications();
if (!navigator.serviceWorker || !globalThis.Notification) {
  box.disabled = true;
  hint.textContent = missing;
}
box.addEventListener("change", async () => {
  if (box.checked && !(await allow())) {
    box.checked = false;
    hint.textContent = blocked;
  }
  local.set("notify", box.checked ? "on" : null);
});
