// What names a command, so that the server carries it out once.

// randomUUID exists on secure origins only; a server in the local network is often plain http.
export function uuid() {
  const random = (digit) => crypto.getRandomValues(new Uint8Array(1))[0] & (15 >> (digit / 4));
  return "10000000-1000-4000-8000-100000000000".replace(/[018]/g, (digit) => (digit ^ random(digit)).toString(16));
}
