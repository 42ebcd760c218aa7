/* The verdict, as verify.py says it: schema assay/verdict/1, one of four tiers, exact sentences. */

const ROLES = ["author", "reviewer"];
const TIERS = { 0: "trusted", 10: "mismatch", 11: "untrusted", 12: "unchecked" };
const NOBODY = { good: false, key: null, name: null, said: "The list is not signed: anyone can make such a list." };
const DRAFT = "The report is a DRAFT: facts are missing, and no signature vouches for it.";

/* `status` is null or {list, signature}, both bytes; `own` has each file that the reader gave, as
   [field, bytes]. `progress` is told of each file of the release. */
async function verdictOn(chosen, trust, status, own, progress) {
  const release = new Release();
  const verdict = { schema: "assay/verdict/1", author: NOBODY, reviewer: NOBODY, notes: [] };
  let [about, trouble, withdrawn] = [null, "", ""];
  try {
    await release.open(chosen, progress);
    await release.refuseAll(own);
    for (const role of ROLES) verdict[role] = await checkRole(release, role, trust);
    if (!release.faults.length) about = await checkContent(release);
    if (about && !release.faults.length) {
      verdict.notes = notesOn(verdict, release, about, trust.day, chosen.files);
      withdrawn = await checkStatus(status, about, release, trust, verdict);
    }
  } catch (error) {
    const unreadable = error instanceof DOMException;
    if (!unreadable && !(error instanceof Unchecked)) throw error;
    trouble = unreadable ? `it cannot be read: ${error.message}` : error.message;
  }
  const faults = new Map(release.faults.sort().map(([file, what]) => [`${file}\n${what}`, { file, what }]));
  const told = { faults: [...faults.values()], files: release.listed.size, claims: about?.claims ?? null };
  Object.assign(verdict, told, { release: about?.release ?? null, knows: about?.knows ?? null });
  verdict.manifest = await sha256(release.manifest);
  return Object.assign(verdict, conclusion(verdict, trouble, about?.draft, withdrawn));
}

/* {exit, tier, sentence}: a fault outweighs what could not be checked, and that any doubt. */
function conclusion({ faults, files, author }, trouble, draft, withdrawn) {
  const told = (exit, sentence) => ({ exit, tier: TIERS[exit], sentence });
  if (faults.length) {
    const count = new Set(faults.map(({ file }) => file)).size;
    const are = count === 1 ? "1 of this release's files is" : `${count} of this release's files are`;
    const content = faults.every(({ what }) => what === "claim" || what === "release");
    const how = content ? "as listed, but wrong in content" : "not as the list says";
    return told(10, `Mismatch: ${are} ${how}. Do not rely on it.`);
  }
  if (trouble) return told(12, `Could not check: ${trouble}`);
  const doubt = (draft && DRAFT) || (!author.good && author.said) || withdrawn;
  if (doubt) return told(11, `Files match their list. ${doubt}`);
  return told(0, `All ${files} listed files match, no unlisted files. ${author.said} Not shown: that the measurements are right, that this is the latest report, or when it was signed.`);
}

/* What is to be said beside the sentence; last, how far knowledge of the status reaches. */
function notesOn({ author, reviewer }, release, { statements, knows }, day, picked) {
  const notes = day ? [`Keys judged as of ${day}, as you asked.`] : [];
  if (reviewer.key) notes.push(`Reviewer: ${reviewer.said}`);
  if (["key", "name"].some((part) => author[part] !== null && author[part] === reviewer[part])) {
    notes.push("One person signed as author and as reviewer: this is one word, not two.");
  }
  const known = ROLES.map((role) => `${SIGNATURES}${role}.sig`);
  for (const file of [...release.files.keys()].sort()) {
    if (file.startsWith(SIGNATURES) && !known.includes(file)) {
      notes.push(`Not covered by the signature: ${printable(file)}`);
    }
  }
  if (statements) notes.push(`Not weighed again: the evidence of ${statements} statements about arithmetic.`);
  notes.push("Not derived again: numbers that the release does not list as claims.");
  if (picked) notes.push("Not seen: links and empty folders, which no browser shows of a chosen folder.");
  return [...notes, `Status unknown after ${knows.date}.`];
}

/* What the signature of one role is worth. */
async function checkRole(release, role, trust) {
  const name = `${SIGNATURES}${role}.sig`;
  if (!release.files.has(name)) return NOBODY;
  const namespace = `assay/report/${role}/v1`;
  try {
    const armored = await release.read(name);
    return await trust.judge(await checkSignature(armored, release.manifest, namespace), namespace);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    release.fault(name, "signature");
    return NOBODY;
  }
}

/* What a signed status list says of the release goes into the verdict; that it was withdrawn is
   the doubt that comes back. Without a list, the release's own knowledge is all there is. */
async function checkStatus(status, about, release, trust, verdict) {
  if (!status) return "";
  verdict.notes.pop();
  const namespace = "assay/report/status/v1";
  let [key, number, date, entries] = [];
  try {
    key = await checkSignature(status.signature, status.list, namespace);
    const list = parseJson(textOf(status.list) ?? "");
    number = Number(list.get("number").text);
    date = printable(list.get("date"));
    const manifest = await sha256(release.manifest);
    entries = list.get("releases").filter((entry) => entry.get("manifest") === manifest);
    const states = ["superseded", "withdrawn"];
    const strange = entries.some((entry) => !states.includes(entry.get("state")));
    const whole = list.get("number") instanceof Numeral && list.get("number").exact;
    const untold = entries.some((entry) => ["state", "date", "reason", "by"].some((part) => !entry.has(part)));
    if (list.get("schema") !== "assay/status/1" || strange || untold || !whole) refuse("another schema");
  } catch {
    throw new Unchecked("the status list is not one, or its signature does not hold.");
  }
  const judged = await trust.judge(key, namespace);
  if (judged.said === UNKNOWN) throw new Unchecked("the status list is signed by a key you have not pinned.");
  if (!judged.good) throw new Unchecked(`the status list is signed${judged.said.slice("It is signed".length)}`);
  if (trust.pins.has(judged.key) && judged.key !== verdict.author.key) {
    throw new Unchecked("the status list is signed by a key that is not this release's author's.");
  }
  const least = about.knows.number;
  if (number < least) {
    throw new Unchecked(`the status list is older (number ${number}) than the one this release knows (${least}).`);
  }
  const after = `Status unknown after ${date}.`;
  const entry = entries.find((each) => each.get("state") === "withdrawn") ?? entries.at(-1);
  if (!entry) {
    verdict.notes.push(`Status list ${number} of ${date} does not name this report.`, after);
    verdict.status = { state: "current", until: date, reason: null };
    return "";
  }
  const [state, until, reason, by] = ["state", "date", "reason", "by"].map((part) => printable(String(entry.get(part))));
  verdict.status = { state, until, reason };
  const withdrawn = state === "withdrawn" ? `withdrawn on ${until}: ${reason}` : "";
  const told = withdrawn || `Superseded by ${by} on ${until}: ${reason}`;
  verdict.notes.push(...(withdrawn && verdict.author.good && !about.draft ? [] : [told]), after);
  return withdrawn && `The signature holds, but the report was ${withdrawn}`;
}
