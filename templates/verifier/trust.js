/* Whom the reader trusts: fingerprints, a signers file as OpenSSH has it, revoked keys, a day.
   What cannot be read here is the reader's own mistake: a Misread, told beside its field. */

class Misread extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

const UNKNOWN = "The list is signed by a key you have not pinned: anyone can make such a signature.";
const SIGNER = /^("[^"]*"|[^\s"]+)\s+(?:((?:[^\s"]|"[^"]*")+)\s+)??((?:ssh|sk|ecdsa)-[a-z0-9@.-]+)\s+([A-Za-z0-9+/]+={0,2})(?:\s.*)?$/;
const KEY_LINE = /^(?:ssh|sk)-[a-z0-9@.-]+ ([A-Za-z0-9+/]+={0,2})(?: .*)?$/;
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{43}$/;
const SIGNER_OPTIONS = ["namespaces", "valid-after", "valid-before"];

class Trust {
  /* Texts of the fields `pins`, `signers`, `revoked`; the `day` as YYYYMMDD, or empty for now. */
  static async read({ pins, signers, revoked, day }) {
    const trust = new Trust();
    trust.day = day;
    trust.at = day ? secondOf(day) : Date.now() / 1000;
    trust.signers = linesOf(signers).map(readSigner);
    trust.pins = await fingerprints(pins, "pin", "Neither a fingerprint (SHA256: and 43 characters) nor a public key");
    trust.revoked = await fingerprints(revoked, "revoked", "Neither a fingerprint nor a public key");
    return trust;
  }

  /* {good, key, name, said}: of a signature by `blob` that holds; the name is the signers file's. */
  async judge(blob, namespace) {
    const key = await fingerprint(blob);
    let [doubt, name] = [this.pins.has(key) ? "" : UNKNOWN, null];
    const doubted = (source, why) => `It is signed with key ${key}, and your ${source} says that key is ${why}.`;
    for (const signer of this.signers) {
      if (!doubt || !equal(signer.key, blob)) continue;
      let why = this.at > signer.before ? "expired" : "";
      if (this.at < signer.after) why = "not yet valid";
      if (!matches(namespace, signer.namespaces)) why = "not for this role";
      [doubt, name] = why ? [doubted("signers file", why), null] : ["", signer.name];
    }
    if (this.revoked.has(key)) [doubt, name] = [doubted("list of revoked keys", "revoked"), null];
    const by = name ? `by ${name} with key ${key}` : `with key ${key}`;
    return { good: !doubt, key, name, said: doubt || `Signed ${by} which you pinned.` };
  }
}

/* The lines that say something, numbered. */
function linesOf(text) {
  const lines = text.split(/\r\n|\r|\n/).map((line, index) => [line.trim(), index + 1]);
  return lines.filter(([line]) => line && !line.startsWith("#"));
}

async function fingerprints(text, field, complaint) {
  const found = new Set();
  for (const [line, number] of linesOf(text)) {
    const key = KEY_LINE.exec(line);
    const blob = key && fromBase64(key[1]);
    if (!blob && !FINGERPRINT.test(line)) throw new Misread(field, `${complaint}: line ${number}.`);
    found.add(blob ? await fingerprint(blob) : line);
  }
  return found;
}

/* One line of a signers file. */
function readSigner([line, number]) {
  const [, principals, options = "", , key] = SIGNER.exec(line) || [];
  const written = [...options.matchAll(/([A-Za-z-]+)(?:="([^"]*)")?(?:,|$)/g)];
  const told = new Map(written.map(([, name, value]) => [name.toLowerCase(), value]));
  const whole = written.map(([, name, value]) => (value === undefined ? name : `${name}="${value}"`)).join(",");
  const blob = key && fromBase64(key);
  if (
    !principals || !blob || whole !== options || told.size < written.length
    || [...told.keys()].some((name) => !SIGNER_OPTIONS.includes(name)) || /[![]/.test(told.get("namespaces") ?? "")
  ) {
    throw new Misread("signers", `Line ${number} of the signers file cannot be read.`);
  }
  const [name] = principals.replace(/^"|"$/g, "").split(",");
  return {
    name: /[*?!]/.test(name) ? null : printable(name),
    namespaces: told.get("namespaces") ?? "*",
    after: told.has("valid-after") ? secondOf(told.get("valid-after")) : 0,
    before: told.has("valid-before") ? secondOf(told.get("valid-before")) : Infinity,
    key: blob,
  };
}

/* A time as OpenSSH writes it, YYYYMMDD[HHMM[SS]] in local time, or in UTC with a Z. */
function secondOf(text = "") {
  const found = /^(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z?)$/.exec(text);
  if (found) {
    const [year, month, day, hour, minute, second] = found.slice(1, 7).map((part) => Number(part || 0));
    const date = new Date(Date.UTC(year, month - 1, day, hour, minute, second));
    const real = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
    const local = new Date(year, month - 1, day, hour, minute, second);
    if (real && hour < 24 && minute < 60 && second < 60) return (found[7] ? date : local) / 1000;
  }
  throw new Misread("signers", `'${printable(text)}' is no day; write it as 20260131.`);
}

/* Patterns as OpenSSH has them: commas, * and ?. */
function matches(text, patterns) {
  return patterns.split(",").some((pattern) => {
    const plain = pattern.replace(/[.+^${}()|\]\\/-]/g, "\\$&");
    return new RegExp(`^${plain.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s").test(text);
  });
}
