// What htmx requests may answer besides a fragment: a refusal in words, or nothing at all.
import { text } from "./text.js";
import { toast } from "./toast.js";

const REFUSED = 422;

export function startRequests() {
  document.body.addEventListener("htmx:responseError", (event) => {
    const { status, responseText } = event.detail.xhr;
    toast(status === REFUSED ? responseText : text("requestFailed", { status: String(status) }), "error");
  });
  document.body.addEventListener("htmx:sendError", () => toast(text("unreachable"), "error"));
}
