// Runs before the first paint, so that a chosen theme or a closed sidebar never flashes; and says
// the reader's time zone, so that the server's next page knows what "today" is.
(() => {
  const root = document.documentElement;
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    root.classList.toggle("sidebar-closed", localStorage.getItem("sidebar") === "closed");
  } catch {
    // Without storage the page follows the system.
  }
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  if (timeZone) document.cookie = `zone=${timeZone}; path=/; max-age=31536000; samesite=lax`;
})();
