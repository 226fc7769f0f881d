// Images that no model looks at in full are made smaller before they are sent: as large as a model
// sees them, and small enough for every provider. What says who took a photo, when and where, stays
// behind. What can't be read here is for the server to judge.
const EDGE = 2000;
const BYTES = 3_400_000;
const KINDS = ["image/png", "image/jpeg", "image/webp"];
const QUALITY = 0.88;
// Exif, and what Adobe's programs write beside it, in all three formats.
const TELLS = /exif|ns\.adobe\.com\/xap|photoshop 3/i;

/** Return the image as a file that can be sent: itself, where it is small and tells only what it shows. */
export async function fitted(file) {
  if (!KINDS.includes(file.type)) return file;
  let picture;
  try {
    picture = await createImageBitmap(file);
  } catch {
    return file;
  }
  const scale = Math.min(1, EDGE / Math.max(picture.width, picture.height));
  if (scale === 1 && file.size <= BYTES && !TELLS.test(await file.text())) return file;
  const canvas = draw(picture, scale);
  const same = file.type === "image/jpeg" ? null : await encode(canvas, "image/png");
  const made = same && same.size <= BYTES ? same : await encode(canvas, "image/jpeg");
  return made ? new File([made], file.name, { type: made.type }) : file;
}

function draw(picture, scale) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(picture.width * scale));
  canvas.height = Math.max(1, Math.round(picture.height * scale));
  const context = canvas.getContext("2d");
  // What shines through would be black in a JPEG.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  return canvas;
}

function encode(canvas, kind) {
  return new Promise((resolve) => canvas.toBlob(resolve, kind, QUALITY));
}
