/* SSH signatures over a message (OpenSSH's PROTOCOL.sshsig), with Ed25519 keys, on disk or in
   a security key. One spelling of each signature is accepted; OpenSSH lets some others pass. */

const BEGIN = "-----BEGIN SSH SIGNATURE-----\n";
const END = "\n-----END SSH SIGNATURE-----\n";
const PLAIN_KEY = "ssh-ed25519";
const SECURITY_KEY = "sk-ssh-ed25519@openssh.com";

/* Fields off the front of a buffer, as SSH writes them. */
class Fields {
  constructor(bytes) {
    this.rest = bytes;
  }

  take(count) {
    if (this.rest.length < count) refuse("a field that is cut off");
    const taken = this.rest.subarray(0, count);
    this.rest = this.rest.subarray(count);
    return taken;
  }

  number() {
    return viewOf(this.take(4), 0).getUint32(0);
  }

  string() {
    return this.take(this.number());
  }

  word() {
    return latin(this.string());
  }

  close() {
    if (this.rest.length) refuse("bytes after the last field");
  }
}

/* The blob of the key that signed `message` for `namespace`; a Fault when it does not hold. */
async function checkSignature(armored, message, namespace) {
  const fields = new Fields(withoutArmor(armored));
  if (latin(fields.take(6)) !== "SSHSIG" || fields.number() !== 1) refuse("no SSHSIG");
  const blob = fields.string();
  const purpose = fields.word();
  const reserved = fields.string();
  const hash = fields.word();
  const signature = new Fields(fields.string());
  fields.close();
  if (purpose !== namespace || reserved.length || hash !== "sha512") {
    refuse("a signature for another purpose");
  }
  const key = keyOf(blob);
  if (signature.word() !== key.type) refuse("a signature of another kind than its key");
  const proof = signature.string();
  const hashed = await digest("SHA-512", message);
  let signed = joined(ascii("SSHSIG"), ...[ascii(namespace), reserved, ascii(hash), hashed].map(sshString));
  if (key.application) {
    const flagsAndCounter = signature.take(5);
    const asked = await digest("SHA-256", key.application);
    signed = joined(asked, flagsAndCounter, await digest("SHA-256", signed));
  }
  signature.close();
  if (!(await ed25519(key.point, signed, proof))) refuse("a signature that does not hold");
  return blob;
}

/* The parts of a public key's blob. */
function keyOf(blob) {
  const fields = new Fields(blob);
  const type = fields.word();
  if (type !== PLAIN_KEY && type !== SECURITY_KEY) {
    throw new Unchecked(printable(`the signature is by a key of type ${type.slice(0, 40)}.`));
  }
  const point = fields.string();
  const application = type === SECURITY_KEY ? fields.string() : null;
  fields.close();
  return { type, point, application };
}

function withoutArmor(armored) {
  const text = latin(armored);
  const body = text.slice(BEGIN.length, -END.length);
  const blob = fromBase64(body.replace(/\n/g, ""));
  const once = blob && BEGIN + btoa(latin(blob)).replace(/.{70}(?!$)/g, "$&\n") + END;
  if (!blob || text !== once) refuse("not the one form of an SSH signature");
  return blob;
}

function sshString(bytes) {
  const length = new Uint8Array(4);
  viewOf(length, 0).setUint32(0, bytes.length);
  return joined(length, bytes);
}
