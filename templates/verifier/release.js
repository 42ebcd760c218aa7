/* The files of a release against their list. Faults are [path, what] pairs; a release that cannot
   be judged throws Unchecked. A browser shows no links and pipes of a folder, and no empty folders
   of one that was chosen; in a dropped folder and in a zip those are seen. */

const MANIFEST = "MANIFEST.sha256";
const SIGNATURES = "signatures/";
const MOST_FILES = 10000;
const LARGEST_FILE = 64 << 20;
const LARGEST_JSON = 16 << 20;
// Parsed JSON takes about this many times its size.
const PARSED = 32;
const LARGEST_SUM = 2 ** 30;
const LARGEST_LIST = 4 << 20;
const LARGEST_STATUS = 1 << 20;
const SEGMENT = /^[A-Za-z0-9_-](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/;
const MODES = { 0: "", 8: "", 10: "symlink", 4: "empty" };

class Release {
  constructor() {
    this.files = new Map();
    this.faults = [];
    this.listed = new Map();
    this.left = LARGEST_SUM;
    this.manifest = new Uint8Array(0);
  }

  /* Find every file, read the list, and name all that is not as listed. `chosen` is {files} of a
     folder, a dropped {folder}, or {zip}; `progress` is told of each file. */
  async open(chosen, progress) {
    if (chosen.zip) this.unzip(await readZip(chosen.zip));
    else if (chosen.folder) await this.walk(chosen.folder, "");
    else this.take(chosen.files);
    if (!this.files.has(MANIFEST)) {
      throw new Unchecked(`there is no ${MANIFEST}, so this is no release.`);
    }
    this.manifest = await this.read(MANIFEST);
    this.parse(latin(this.manifest));
    for (const name of this.listed.keys()) if (!this.files.has(name)) this.fault(name, "missing");
    let done = 0;
    for (const name of [...this.files.keys()].sort()) {
      const listed = this.listed.get(name);
      const free = name === MANIFEST || name.startsWith(SIGNATURES);
      if (!listed && !free) this.fault(name, "added");
      if (listed && (await this.digest(name)) !== listed) this.fault(name, "changed");
      done += 1;
      await progress(done, this.files.size);
    }
  }

  fault(name, what) {
    this.faults.push([printable(name), what]);
  }

  add(name, kind, read) {
    if (kind) this.fault(name, kind);
    else if (this.files.has(name)) this.fault(name, "twin");
    else if (!isTidy(name)) this.fault(name, "name");
    else this.files.set(name, read);
    if (this.files.size + this.faults.length > MOST_FILES) {
      throw new Unchecked("it holds more than 10,000 files.");
    }
  }

  take(files) {
    for (const file of files) {
      const name = file.webkitRelativePath.split("/").slice(1).join("/");
      this.add(name, "", () => part(file, 0, LARGEST_FILE + 1));
    }
  }

  async walk(folder, path) {
    let empty = path !== "";
    for await (const entry of folder.values()) {
      empty = false;
      const name = path + entry.name;
      if (entry.kind === "directory") await this.walk(entry, `${name}/`);
      else this.add(name, "", async () => part(await entry.getFile(), 0, LARGEST_FILE + 1));
    }
    if (empty) this.add(path, "empty");
  }

  /* A zip may hold everything below one folder. */
  unzip(entries) {
    const paths = entries.map(({ path }) => path);
    const lists = paths.filter((path) => /^([^/]*\/)?MANIFEST\.sha256$/.test(path));
    const [list = MANIFEST] = lists.sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
    const top = list.slice(0, -MANIFEST.length);
    const sorted = [...new Set(paths)].sort();
    const next = new Map(sorted.map((path, index) => [path, sorted[index + 1] ?? ""]));
    for (const { path, mode, read } of entries) {
      const name = path.startsWith(top) ? path.slice(top.length) : `../${path}`;
      const folder = path.endsWith("/") && isTidy(path.slice(0, -1));
      const full = folder && next.get(path).startsWith(path);
      if (!full) this.add(name, folder ? "empty" : (MODES[mode] ?? "special"), read);
    }
  }

  /* Fill in the digest of each path. The list has one form; any other is a fault. */
  parse(text) {
    for (const line of text.split("\n")) {
      const found = /^([0-9a-f]{64}) {2}(.+)$/.exec(line);
      if (found && isPlain(found[2])) this.listed.set(found[2], found[1]);
    }
    const names = [...this.listed.keys()].sort();
    const low = new Set(names.map((name) => name.toLowerCase()));
    const form = names.map((name) => `${this.listed.get(name)}  ${name}\n`).join("");
    if (form !== text || !names.length || low.size < names.length) {
      this.fault(MANIFEST, "manifest");
    }
  }

  /* Refuse what the reader gave as their own, [field, bytes], when the release has it too. */
  async refuseAll(own) {
    const known = new Set(this.listed.values());
    const free = own.length ? [...this.files.keys()].filter((name) => name.startsWith(SIGNATURES)) : [];
    for (const name of free) known.add(await this.digest(name));
    for (const [field, bytes] of own) {
      if (bytes.length && known.has(await sha256(bytes))) {
        throw new Misread(field, "This file is one of the release: trust must come from outside it.");
      }
    }
  }

  async digest(name) {
    return sha256(await this.read(name));
  }

  /* A whole file, of at most `most` bytes; one that its zip garbles is empty. */
  async read(name, most = LARGEST_FILE) {
    let bytes = new Uint8Array(0);
    try {
      bytes = await this.files.get(name)();
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      if (this.listed.has(name)) this.fault(name, "changed");
    }
    this.left -= bytes.length * (most === LARGEST_JSON ? PARSED : 1);
    if (bytes.length > most || this.left < 0) {
      throw new Unchecked(`${printable(name)} is larger than a release may hold.`);
    }
    return bytes;
  }
}

/* Whether a listed path stays inside and can be held by any system. */
function isPlain(name) {
  const parts = name.split("/");
  const ours = parts[0].toLowerCase() === "signatures" || name.toLowerCase() === MANIFEST.toLowerCase();
  return parts.every((part) => SEGMENT.test(part)) && !ours && parts.length <= 20 && name.length <= 320;
}

/* Whether a path is relative, goes nowhere else and holds no control character. */
function isTidy(name) {
  return !/[\x00-\x1f\x7f-\x9f\\:]|(?:^|\/)\.{0,2}(?:\/|$)/.test(name);
}
