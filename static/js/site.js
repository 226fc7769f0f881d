// Every page: theme, sidebar, dialogs, toasts, times.
import { startCopying } from "./clipboard.js";
import { dressCode, startCode } from "./code.js";
import { startDialogs } from "./dialogs.js";
import { startLanguage } from "./language.js";
import { startMenus } from "./menus.js";
import { startRows } from "./rows.js";
import { startShortcuts } from "./shortcuts.js";
import { startSidebar } from "./sidebar.js";
import { startTheme } from "./theme.js";
import { localizeTimes } from "./time.js";
import { startToasts } from "./toast.js";
import { startTyped } from "./typed.js";

function dress(root) {
  localizeTimes(root);
  dressCode(root);
}

startTheme();
startSidebar();
startMenus();
startRows();
startToasts();
startDialogs();
startCopying();
startCode();
startShortcuts();
startTyped();
startLanguage();
dress(document);
document.body.addEventListener("htmx:afterSettle", (event) => dress(event.detail.target.parentElement ?? document));
