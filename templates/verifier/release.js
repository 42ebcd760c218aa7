/* The files of a release against their list. Faults are [path, what] pairs; a release that cannot
   be judged throws Unchecked. A browser shows neither links nor empty folders of a chosen folder;
   in a zip they are seen. */

const MANIFEST = "MANIFEST.sha256";
const SIGNATURES = "signatures/";
const MOST_FILES = 10000;
const LARGEST_FILE = 256 << 20;
const LARGEST_SUM = 2 ** 30;
const LARGEST_LIST = 4 << 20;
const LARGEST_JSON = 64 << 20;
const LARGEST_SIGNATURE = 16 << 10;
const LARGEST_STATUS = 1 << 20;
const SEGMENT = /^[A-Za-z0-9_-](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/;
const LINK = 10;
const PLAIN_FILE = 8;

class Release {
  constructor(faults) {
    this.files = new Map();
    this.faults = faults;
    this.left = LARGEST_SUM;
  }

  /* `chosen` is {files} of a chosen folder, or {zip}; `faults` is filled as they are found. */
  static async open(chosen, faults) {
    const release = new Release(faults);
    if (chosen.zip) release.unzip(await readZip(chosen.zip));
    else release.walk(chosen.files);
    if (release.files.size > MOST_FILES) {
      throw new Unchecked("it holds more than 10,000 files, or folders without end.");
    }
    if (!release.files.has(MANIFEST)) {
      throw new Unchecked(`there is no ${MANIFEST}, so this is no release.`);
    }
    try {
      release.manifest = await release.read(MANIFEST, LARGEST_LIST);
    } catch (error) {
      if (error instanceof Fault) release.fault(MANIFEST, "manifest");
      throw new Unchecked(error.message);
    }
    release.listed = release.parse(latin(release.manifest));
    if (release.listed.size > MOST_FILES) throw new Unchecked("it lists more than 10,000 files.");
    return release;
  }

  fault(name, what) {
    this.faults.push([printable(name), what]);
  }

  walk(files) {
    for (const file of files) {
      const path = file.webkitRelativePath.split("/").slice(1).join("/");
      this.files.set(path, () => part(file, 0, LARGEST_FILE + 1));
    }
  }

  unzip(entries) {
    const paths = entries.map((entry) => entry.path);
    const tops = paths.filter((path) => /^[^/]+\/MANIFEST\.sha256$/.test(path)).sort();
    const top = paths.includes(MANIFEST) || !tops.length ? "" : tops[0].slice(0, -MANIFEST.length);
    const folded = new Set();
    for (const { path, mode, read } of entries) {
      const name = path.startsWith(top) ? path.slice(top.length) : "";
      if (mode === LINK) this.fault(name || path, "symlink");
      else if (!isTidy(path)) this.fault(path, "name");
      else if (!name && path !== top) this.fault(path, "added");
      else if (path.endsWith("/")) {
        const full = paths.some((other) => other !== path && other.startsWith(path));
        if (!full) this.fault(name, "empty");
      } else if (mode !== 0 && mode !== PLAIN_FILE) this.fault(name, "special");
      else if (folded.has(name.toLowerCase())) this.fault(name, "twin");
      else {
        folded.add(name.toLowerCase());
        this.files.set(name, read);
      }
    }
  }

  /* The digest of each path. The list has one form; any other is a fault. */
  parse(text) {
    const listed = new Map();
    for (const line of text.split("\n").slice(0, -1)) {
      const found = /^([0-9a-f]{64}) {2}(.+)$/.exec(line);
      if (found && isPlain(found[2])) listed.set(found[2], found[1]);
    }
    const names = [...listed.keys()].sort();
    const low = new Set(names.map((name) => name.toLowerCase()));
    const nested = [...low].some((name) => {
      const parts = name.split("/");
      return parts.some((_, count) => count && low.has(parts.slice(0, count).join("/")));
    });
    const canonical = names.map((name) => `${listed.get(name)}  ${name}\n`).join("");
    if (canonical !== text || low.size < names.length || nested || !names.length) {
      this.fault(MANIFEST, "manifest");
    }
    return listed;
  }

  /* Hash every listed file; name what changed, is missing or was added. */
  async compare(progress) {
    let done = 0;
    for (const [name, listed] of this.listed) {
      if (!this.files.has(name)) this.fault(name, "missing");
      else if ((await this.digest(name)) !== listed) this.fault(name, "changed");
      done += 1;
      await progress(done, this.listed.size);
    }
    for (const name of this.files.keys()) {
      if (!this.listed.has(name) && name !== MANIFEST && !name.startsWith(SIGNATURES)) {
        this.fault(name, "added");
      }
    }
  }

  async digest(name) {
    try {
      return await sha256(await this.read(name, LARGEST_FILE));
    } catch (fault) {
      if (fault instanceof Fault) return "";
      throw fault;
    }
  }

  /* A whole file, which may be at most `limit` bytes. */
  async read(name, limit = LARGEST_JSON) {
    const bytes = await this.files.get(name)();
    this.left -= bytes.length;
    if (bytes.length > limit || this.left < 0) {
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

/* Whether a zip entry's name is relative, goes nowhere else and holds no control character. */
function isTidy(name) {
  const parts = name.replace(/\/$/, "").split("/");
  const odd = /[\p{C}\p{Z}\\:]/u.test(name.replaceAll(" ", ""));
  return !odd && !parts.some((part) => ["", ".", ".."].includes(part));
}
