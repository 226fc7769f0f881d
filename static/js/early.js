// Runs before the first paint, so that a chosen theme or a closed sidebar never flashes.
(() => {
  const root = document.documentElement;
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    root.classList.toggle("sidebar-closed", localStorage.getItem("sidebar") === "closed");
  } catch {
    // Without storage the page follows the system.
  }
})();
