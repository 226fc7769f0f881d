// Uploading: files are dropped or chosen, and those of a folder go with the paths that they have in it.
import { inARow } from "./text.js";

const form = document.getElementById("put-files");
const [single, whole] = form.querySelectorAll("[type=file]");
const zone = form.querySelector(".drop-zone");

form.addEventListener("formdata", ({ formData }) => {
  const files = formData.getAll("files").filter((file) => file.name);
  formData.delete("files");
  for (const file of files) {
    formData.append("files", file);
    formData.append("paths", file.webkitRelativePath || file.name);
  }
});

/** Say what will be uploaded: the first names, and how many there are. */
function showChosen() {
  const names = [...single.files, ...whole.files].map((file) => file.name);
  form.querySelector("output").textContent = names.length > 3 ? `${inARow(names.slice(0, 3))} … (${names.length})` : inARow(names);
}

form.addEventListener("change", showChosen);
zone.addEventListener("dragover", (event) => {
  event.preventDefault();
  zone.classList.add("is-over");
});
for (const type of ["dragleave", "drop"]) zone.addEventListener(type, () => zone.classList.remove("is-over"));
zone.addEventListener("drop", (event) => {
  event.preventDefault();
  const items = [...event.dataTransfer.items].filter((item) => item.webkitGetAsEntry()?.isFile);
  const dropped = new DataTransfer();
  for (const item of items) dropped.items.add(item.getAsFile());
  single.files = dropped.files;
  showChosen();
  if (!items.length) form.querySelector("output").textContent = zone.dataset.noFiles;
});
