// Shows notifications for pages that nobody looks at, and brings the page back that one is of.
// It fetches and keeps nothing: without the server there is no conversation.
let last = Promise.resolve();

async function pagesAt(path) {
  const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  return pages.filter((page) => new URL(page.url).pathname === path);
}

async function show({ title, body, path, key }, sender) {
  const others = (await pagesAt(path)).filter((page) => page.id !== sender);
  if (others.some((page) => page.visibilityState === "visible")) return;
  // Another tab may have told the same.
  const [shown] = await self.registration.getNotifications({ tag: path });
  if (shown?.data === key) return;
  await self.registration.showNotification(title, { body, tag: path, data: key, renotify: true, icon: "icons/icon-192.png" });
}

async function open(path) {
  const [page] = await pagesAt(path);
  return page ? page.focus() : self.clients.openWindow(path);
}

self.addEventListener("message", (event) => {
  last = last.then(() => show(event.data, event.source.id)).catch(console.error);
  event.waitUntil(last);
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(open(event.notification.tag));
});
