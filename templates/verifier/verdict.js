/* The verdict, as verify.py says it: schema assay/verdict/1, one of four tiers, exact sentences. */

const ROLES = ["author", "reviewer"];
const TIERS = { 0: "trusted", 10: "mismatch", 11: "untrusted", 12: "unchecked" };
const ABSENT = { state: "absent", key: null, name: null };
const WHY = {
  expired: () => "expired",
  early: () => "not yet valid",
  revoked: () => "revoked",
  refused: (role) => `not allowed to sign as ${role}`,
};

/* `status` is null or {list, signature}, both bytes. `progress` is told of each file. */
async function verdictOn(chosen, trust, status, progress) {
  const verdict = {
    schema: "assay/verdict/1", tier: "", exit: 0, sentence: "", release: null, files: 0,
    faults: [], unchecked: [], author: ABSENT, reviewer: ABSENT, same_key: false, claims: 0,
    status: { state: "unknown", until: null, reason: null }, notes: [],
  };
  const release = new Release();
  let doubt = "";
  try {
    await release.open(chosen, progress);
    for (const role of ROLES) verdict[role] = await checkRole(release, role, trust, verdict.unchecked);
    verdict.same_key = verdict.author.key !== null && verdict.author.key === verdict.reviewer.key;
    let about = null;
    if (!release.faults.length) ({ about, claims: verdict.claims } = await checkContent(release));
    if (about) verdict.release = about.get("release");
    if (!release.faults.length) {
      verdict.notes = notesOn(verdict, release);
      verdict.status = await checkStatus(status, about, release, trust, verdict.notes);
      doubt = doubtOf(about, verdict);
    }
  } catch (error) {
    const unreadable = error instanceof DOMException;
    if (!unreadable && !(error instanceof Unchecked)) throw error;
    verdict.unchecked.push(unreadable ? `it cannot be read: ${error.message}` : error.message);
  }
  verdict.files = release.listed.size;
  const faults = new Map(release.faults.sort().map(([file, what]) => [`${file}\n${what}`, { file, what }]));
  verdict.faults = [...faults.values()];
  return Object.assign(verdict, conclusion(verdict, doubt));
}

/* {exit, tier, sentence}: a fault outweighs what could not be checked, and that any doubt. */
function conclusion({ faults, unchecked, files, author: { key, name } }, doubt) {
  const told = (exit, sentence) => ({ exit, tier: TIERS[exit], sentence });
  if (faults.length) {
    const count = new Set(faults.map(({ file }) => file)).size;
    const are = count === 1 ? "1 of this release's files is" : `${count} of this release's files are`;
    return told(10, `Mismatch: ${are} not as the list says. Do not rely on it.`);
  }
  if (unchecked.length) return told(12, `Could not check: ${unchecked[0]}`);
  if (doubt) return told(11, doubt);
  const signed = name ? `Signed by ${name} with` : "Signed with";
  return told(0, `All ${files} listed files match, no unlisted files. ${signed} key ${key} which you pinned. Not shown: that the measurements are right, that this is the latest report, or when it was signed.`);
}

/* Why a consistent release is not trusted, or nothing. */
function doubtOf(about, { author: { state, key }, status }) {
  const match = (rest) => `Files match their list. ${rest}`;
  if (about.get("status") !== "FINAL") {
    return match("The report is a DRAFT: facts are missing, and no signature vouches for it.");
  }
  if (state === "absent") return match("The list is not signed: anyone can make such a list.");
  if (state === "unknown") {
    return match("The list is signed by a key you have not pinned: anyone can make such a signature.");
  }
  if (WHY[state]) {
    const says = state === "revoked" ? "list of revoked keys says" : "signers file says";
    return match(`It is signed with key ${key}, and your ${says} that key is ${WHY[state]("author")}.`);
  }
  if (status.state !== "withdrawn") return "";
  return match(`The signature holds, but the report was withdrawn on ${status.until}: ${status.reason}`);
}

/* What is to be said beside the sentence. */
function notesOn({ author, reviewer, same_key: sameKey }, release) {
  const notes = [];
  const { state, key, name } = reviewer;
  if (state === "good") {
    const by = name ? `by ${name} with` : "with";
    notes.push(`Reviewed ${by} key ${key} which you pinned.`);
  } else if (state === "unknown") {
    notes.push("A reviewer's signature is there, by a key you have not pinned: anyone can make such a signature.");
  } else if (WHY[state]) {
    notes.push(`A reviewer's signature is there, and does not count: its key is ${WHY[state]("reviewer")}.`);
  }
  if (sameKey) {
    notes.push("Author and reviewer signed with the same key: this is one person's word, not two.");
  } else if (author.name && author.name === name) {
    notes.push(`Author and reviewer are the same person: ${name}.`);
  }
  const known = ROLES.map((role) => `${SIGNATURES}${role}.sig`);
  for (const file of [...release.files.keys()].sort()) {
    if (file.startsWith(SIGNATURES) && !known.includes(file)) {
      notes.push(`Not covered by the signature: ${printable(file)}`);
    }
  }
  return notes;
}

/* What the signature of one role is worth. */
async function checkRole(release, role, trust, unchecked) {
  const name = `${SIGNATURES}${role}.sig`;
  if (!release.files.has(name)) return ABSENT;
  const namespace = `assay/report/${role}/v1`;
  try {
    const armored = await release.read(name, LARGEST_SIGNATURE);
    return await trust.judge(await checkSignature(armored, release.manifest, namespace), namespace);
  } catch (error) {
    if (error instanceof Unsupported) {
      unchecked.push(`${name} is ${error.message}`);
      return { ...ABSENT, state: "unsupported" };
    }
    if (!(error instanceof Fault)) throw error;
    release.fault(name, "signature");
    return { ...ABSENT, state: "bad" };
  }
}

/* What a signed status list says of the release, or how far the release's own knowledge reaches. */
async function checkStatus(status, about, release, trust, notes) {
  const known = about.get("status_list") ?? new Map([["number", new Numeral("0")], ["date", about.get("date")]]);
  if (!status) {
    notes.push(`Status unknown after ${known.get("date")}.`);
    return { state: "unknown", until: known.get("date"), reason: null };
  }
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
    if (list.get("schema") !== "assay/status/1" || strange) refuse("another schema");
  } catch (error) {
    if (error instanceof Unchecked) throw error;
    throw new Unchecked("the status list is not one, or its signature does not hold.");
  }
  if ((await trust.judge(key, namespace)).state !== "good") {
    throw new Unchecked("the status list is signed by a key you have not pinned.");
  }
  const least = Number(known.get("number").text);
  if (number < least) {
    throw new Unchecked(`the status list is older (number ${number}) than the one this release knows (${least}).`);
  }
  const entry = entries.find((each) => each.get("state") === "withdrawn") ?? entries.at(-1);
  if (!entry) {
    notes.push(`Status list ${number} of ${date} does not name this report.`);
    return { state: "current", until: date, reason: null };
  }
  const [state, until, reason, by] = ["state", "date", "reason", "by"].map((part) => printable(String(entry.get(part))));
  if (state === "superseded") notes.push(`Superseded by ${by} on ${until}: ${reason}`);
  return { state, until, reason };
}
