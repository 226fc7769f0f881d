// Putting a folder in: its files go with the paths that they have in it.
const form = document.getElementById("put-files");

form.addEventListener("formdata", ({ formData }) => {
  const files = formData.getAll("files").filter((file) => file.name);
  formData.delete("files");
  for (const file of files) {
    formData.append("files", file);
    formData.append("paths", file.webkitRelativePath || file.name);
  }
});
