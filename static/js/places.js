// Places in the transcript: what is not on the page is fetched with the rows around it.
import { reveal } from "./folds.js";
import { orSay } from "./toast.js";

/** Return the position and the number in a cut; a bare position comes before all that stands there. */
export function numbers(cut) {
  const [position, seq = 0] = cut.split(".").map(Number);
  return [position, seq];
}

export function isBefore(one, other) {
  const [[position, seq], [from, first]] = [numbers(one), numbers(other)];
  return (position - from || seq - first) < 0;
}

/**
 * Show the row of this id, or the one at this cut, and return it; null where there is neither.
 * It takes the focus, unless whoever asked has to keep it.
 */
export async function goToPlace(transcript, scroll, id, at, focus = true) {
  if (at && !document.getElementById(id) && !transcript.covers(at)) await orSay(transcript.showAround(at));
  const row = document.getElementById(id) ?? (at ? transcript.rowAt(at) : null);
  if (!row) return null;
  reveal(row);
  for (let around = row.closest(".rewound"); around; around = around.parentElement.closest(".rewound")) {
    around.closest("details").open = true;
  }
  row.tabIndex = -1;
  scroll.show(row);
  if (focus) row.focus({ preventScroll: true });
  return row;
}
