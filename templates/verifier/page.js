/* The page itself: what the reader chose, and the verdict in words. Data enters as text alone. */

const SCALE = [["mismatch", "Mismatch"], ["unchecked", "Could not check"], ["untrusted", "Not trusted"], ["trusted", "Trusted"]];
const WHATS = {
  changed: "is not what was listed",
  missing: "is listed, and not there",
  added: "is there, and not listed",
  symlink: "is a link, which is not followed",
  special: "is neither a file nor a folder",
  name: "has a name that leads elsewhere or hides something",
  twin: "has a twin that some systems take for the same file",
  empty: "is an empty folder, which no list can hold",
  manifest: "is not in the one form of a list",
  signature: "does not hold for this list",
  claim: "says what the signed data do not give",
  release: "is not as a release must have it",
};
const MOST_ROWS = 500;

const byId = (id) => document.getElementById(id);
const form = byId("form");
const verdictBox = byId("verdict");
let chosen = null;
let busy = false;
let edits = 0;

form.reset();
byId("folder").addEventListener("change", ({ target }) => {
  const files = [...target.files];
  if (!files.length) return;
  const [folder] = files[0].webkitRelativePath.split("/");
  const words = `${printable(folder)}: ${counted(files.length, "file")} chosen.`;
  choose(() => ({ files: [...target.files] }), words, "zip");
});
byId("zip").addEventListener("change", ({ target }) => {
  if (target.files.length) chooseZip(() => ({ zip: target.files[0] }), "folder");
});
for (const kind of ["input", "change"]) form.addEventListener(kind, edited);
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    byId("drop").classList.toggle("over", kind === "dragover");
  });
}
document.addEventListener("drop", async ({ dataTransfer: { items, files } }) => {
  const [zip] = files;
  const folder = items[0]?.webkitGetAsEntry()?.isDirectory;
  const handle = await (folder && items[0].getAsFileSystemHandle?.());
  if (!zip) return;
  byId("folder").value = byId("zip").value = "";
  edited();
  if (handle) choose(() => ({ folder: handle }), `${printable(handle.name)}: a folder dropped.`);
  else if (!folder) chooseZip(() => ({ zip }));
  else complain("folder", "This browser cannot read a dropped folder. Choose it with this button.");
});
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (busy) return;
  busy = true;
  try {
    await check();
  } catch (error) {
    if (error instanceof Misread) complain(error.field, error.message);
    else complain("check", `A fault of this page, not of the release: ${error.message}`);
  }
  byId("progress").hidden = true;
  busy = false;
});

/* A verdict does not stand beside anything but what it was about. */
function edited() {
  edits += 1;
  verdictBox.hidden = true;
}

/* `what` is asked when the check begins: a file chosen again may have changed since. */
function choose(what, words, other) {
  if (other) byId(other).value = "";
  chosen = what;
  byId("chosen").textContent = words;
}

function chooseZip(what, other) {
  const { name, size } = what().zip;
  choose(what, `${printable(name)}: a zip of ${(size / 1e6).toFixed(1)} MB chosen.`, other);
}

async function check() {
  for (const old of document.querySelectorAll(".error")) old.remove();
  for (const field of document.querySelectorAll("[aria-invalid]")) field.removeAttribute("aria-invalid");
  verdictBox.hidden = true;
  if (!globalThis.crypto?.subtle || !globalThis.DecompressionStream) {
    throw new Misread("check", "Could not check: this browser lacks a needed function.");
  }
  if (!chosen) throw new Misread("folder", "Choose a release first: its folder or its zip.");
  const own = [];
  const trust = await Trust.read({
    pins: byId("pin").value,
    signers: await ownText("signers", own),
    revoked: await ownText("revoked", own),
    day: byId("at").value.replaceAll("-", ""),
  });
  const status = await ownStatus(own);
  byId("live").textContent = "Reading the release.";
  const bar = byId("progress");
  bar.hidden = false;
  let painted = performance.now();
  const [release, begun] = [chosen(), edits];
  const verdict = await verdictOn(release, trust, status, own, async (done, all) => {
    [bar.value, bar.max] = [done, all];
    if (performance.now() - painted < 50) return;
    await new Promise((resume) => setTimeout(resume));
    painted = performance.now();
  });
  const same = edits === begun;
  byId("live").textContent = same ? "" : "Something was changed meanwhile. Check again.";
  if (same) show(verdict, release);
}

/* What the reader gave in a file is added to `own`, as [field, bytes]. */
async function ownText(field, own) {
  const [file] = byId(field).files;
  if (!file) return "";
  return new TextDecoder().decode(await ownBytes(field, file, own));
}

async function ownStatus(own) {
  const files = [...byId("status").files];
  if (!files.length) return null;
  const signature = files.find((file) => file.name.endsWith(".sig"));
  const list = files.find((file) => file !== signature);
  if (!signature || !list || files.length > 2) {
    throw new Misread("status", "Choose two files together: the list and its signature (.sig).");
  }
  return {
    list: await ownBytes("status", list, own),
    signature: await ownBytes("status", signature, own),
  };
}

async function ownBytes(field, file, own) {
  if (file.size > LARGEST_STATUS) throw new Misread(field, `${file.name} is too large.`);
  try {
    const bytes = await part(file, 0, LARGEST_STATUS);
    own.push([field, bytes]);
    return bytes;
  } catch (error) {
    throw new Misread(field, error.message);
  }
}

function complain(field, message) {
  const input = byId(field);
  input.closest("details")?.setAttribute("open", "");
  const told = make("p", { className: "error", role: "alert", id: `${field}-error` }, message);
  if (field !== "check") input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-errormessage", told.id);
  input.after(told);
  input.focus();
}

function show(verdict, chosenAs) {
  const scale = SCALE.map(([tier, word]) => {
    const item = make("li", { className: tier }, word);
    if (tier === verdict.tier) item.setAttribute("aria-current", "true");
    return item;
  });
  verdictBox.className = verdict.tier;
  verdictBox.replaceChildren(
    make("ol", { className: "scale", ariaLabel: "Verdict, on a scale of four" }, ...scale),
    make("h2", { id: "sentence" }, ...keysSetApart(verdict.sentence)),
    listOf(verdict.notes, "notes"),
    faultTable(verdict.faults),
    checkedParts(verdict),
    make("h3", {}, "Not shown"),
    listOf(notShown(verdict, chosenAs), "limits"),
    saveButton(verdict),
  );
  verdictBox.hidden = false;
  verdictBox.focus();
  verdictBox.scrollIntoView();
}

function faultTable(faults) {
  if (!faults.length) return "";
  const rows = faults.slice(0, MOST_ROWS).map(({ file, what }) =>
    make("tr", {}, make("th", { scope: "row" }, make("code", {}, file)), make("td", {}, `${what}: ${WHATS[what]}`)));
  const more = faults.length > MOST_ROWS ? `. The first ${MOST_ROWS}; the saved verdict has all.` : "";
  const caption = make("caption", {}, counted(faults.length, "fault") + more);
  const head = ["File", "What"].map((word) => make("th", { scope: "col" }, word));
  const table = make("table", {}, caption, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows));
  return make("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Files at fault" }, table);
}

function checkedParts({ release, files, faults, author, reviewer, claims, status, knows, exit }) {
  const named = new Set(faults.map(({ file }) => file)).size;
  const found = named ? `${named} at fault` : exit === 12 ? "not all could be read" : "all match, none added";
  const bad = (role) => faults.some(({ file }) => file === `${SIGNATURES}${role}.sig`);
  const signature = (role, { key, said }) => (bad(role) ? ["does not hold"] : keysSetApart(key ? said : "none"));
  const parts = [
    ["Release", release || "not read"],
    ["Files", files ? `${counted(files, "file")} listed; ${found}` : "not read"],
    ["Author’s signature", ...signature("author", author)],
    ["Reviewer’s signature", ...signature("reviewer", reviewer)],
    ["Numbers", claims ? `${counted(claims, "printed number")} compared with the signed data` : "none compared"],
    ["Status", status ? `${status.state}, as of ${status.until}` : knows ? `unknown after ${knows.date}` : "unknown"],
  ];
  const list = make("dl");
  for (const [term, ...words] of parts) list.append(make("dt", {}, term), make("dd", {}, ...words));
  return list;
}

function notShown({ status }, { zip }) {
  return [
    "That the measurements are right. A signature says who vouches for which bytes.",
    "That the evidence bears out what is stated of arithmetic: the build weighs it, this page does not.",
    ...(status?.state === "current" ? [] : ["That this is the latest report."]),
    "When it was signed. Dates in a release are declared by its author.",
    ...(zip ? [] : ["Links and pipes: a browser leaves them out, or follows them. verify.py names them."]),
  ];
}

function saveButton(verdict) {
  const text = JSON.stringify(verdict, null, 1) + "\n";
  const size = (UTF8.encode(text).length / 1000).toFixed(1);
  const button = make("button", { type: "button" }, `Save the verdict (JSON, ${size} kB)`);
  button.addEventListener("click", () => {
    const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    make("a", { href, download: `verdict-${verdict.release || "release"}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 1000);
  });
  return make("p", {}, button);
}

function listOf(lines, className) {
  return lines.length ? make("ul", { className }, ...lines.map((line) => make("li", {}, line))) : "";
}

function keysSetApart(text) {
  return text.split(/(SHA256:\S+)/).map((part, odd) => (odd % 2 ? make("code", {}, part) : part));
}

function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}
