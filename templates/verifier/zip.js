/* Zip files, read by their central directory: stored and deflated entries, nothing fancy.
   Entries must follow one another without gaps, so that every program unpacks the same. */

// Flags that change nothing of a file: how well it was packed, sizes behind it, UTF-8 names.
const PLAIN = 0x80e;
const STORED = 0;
const DEFLATED = 8;

/* The entries of a zip: {path, mode, read}. `read` gives the bytes, or a Fault when the entry is
   not what the directory says of it. A zip that cannot be read at all is Unchecked. */
async function readZip(file) {
  const unreadable = () => {
    throw new Unchecked("it is neither a folder nor a zip that can be read.");
  };
  const tail = await part(file, Math.max(0, file.size - 65557), file.size);
  const end = latin(tail).lastIndexOf("PK\x05\x06");
  if (end < 0 || tail.length < end + 22) unreadable();
  const view = viewOf(tail, end);
  const count = view.getUint16(10, true);
  const size = view.getUint32(12, true);
  const start = view.getUint32(16, true);
  const directoryEnd = file.size - tail.length + end;
  if (size > LARGEST_LIST) throw new Unchecked("it is a zip with a larger directory than a release needs.");
  if (
    view.getUint32(4, true) || view.getUint16(8, true) !== count || start + size !== directoryEnd
    || end + 22 + view.getUint16(20, true) !== tail.length
  ) {
    unreadable();
  }
  const directory = await part(file, start, directoryEnd);
  const entries = [];
  let at = 0;
  for (let number = 0; number < count; number += 1) {
    const entry = directoryEntry(directory, at);
    if (!entry) unreadable();
    if (entry.flags & ~PLAIN || ![STORED, DEFLATED].includes(entry.method)) {
      throw new Unchecked(`${printable(entry.path)} is packed in a way that a release never is.`);
    }
    entries.push(entry);
    at = entry.next;
  }
  if (at !== size) unreadable();
  const order = [...entries].sort((a, b) => a.offset - b.offset);
  if (order.length && order[0].offset) unreadable();
  order.forEach((entry, index) => {
    const limit = index + 1 < order.length ? order[index + 1].offset : start;
    entry.read = () => unpack(file, entry, limit);
  });
  return entries;
}

function directoryEntry(directory, at) {
  if (at + 46 > directory.length) return null;
  const view = viewOf(directory, at);
  const nameEnd = at + 46 + view.getUint16(28, true);
  const next = nameEnd + view.getUint16(30, true) + view.getUint16(32, true);
  if (view.getUint32(0, true) !== 0x02014b50 || next > directory.length) return null;
  const name = directory.slice(at + 46, nameEnd);
  return {
    name, next,
    path: textOf(name) ?? latin(name),
    flags: view.getUint16(8, true),
    method: view.getUint16(10, true),
    crc: view.getUint32(16, true),
    packed: view.getUint32(20, true),
    size: view.getUint32(24, true),
    mode: view.getUint32(38, true) >>> 28,
    offset: view.getUint32(42, true),
  };
}

async function unpack(file, entry, limit) {
  if (entry.size > LARGEST_FILE) throw new Unchecked(`${printable(entry.path)} is larger than a release may hold.`);
  const header = await part(file, entry.offset, entry.offset + 30);
  if (header.length < 30) refuse("an entry without its header");
  const view = viewOf(header, 0);
  const nameEnd = entry.offset + 30 + view.getUint16(26, true);
  const from = nameEnd + view.getUint16(28, true);
  const to = from + entry.packed;
  const trailer = entry.flags & 8 ? [12, 16, 20, 24] : [0];
  if (
    view.getUint32(0, true) !== 0x04034b50 || view.getUint16(8, true) !== entry.method
    || !equal(await part(file, entry.offset + 30, nameEnd), entry.name)
    || !trailer.includes(limit - to)
  ) {
    refuse("an entry that is not what the directory says");
  }
  const bytes = entry.method === STORED
    ? await part(file, from, to)
    : await inflate(file.slice(from, to), entry.size);
  if (bytes.length !== entry.size || crc32(bytes) !== entry.crc) {
    refuse("an entry that does not unpack to what the directory says");
  }
  return bytes;
}

/* At most `size` bytes out of a deflated blob; more is a Fault. */
async function inflate(packed, size) {
  const reader = packed.stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  const parts = [];
  let left = size;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      left -= read.value.length;
      if (left < 0) refuse("an entry larger than it says");
      parts.push(read.value);
    }
  } catch {
    reader.cancel().catch(() => {});
    refuse("an entry that does not unpack");
  }
  return joined(...parts);
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit += 1) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

function crc32(bytes) {
  let sum = -1;
  for (const byte of bytes) sum = CRC[(sum ^ byte) & 255] ^ (sum >>> 8);
  return ~sum >>> 0;
}

async function part(file, from, to) {
  return new Uint8Array(await file.slice(from, to).arrayBuffer());
}
