/* What a release says of itself, and each number on its pages derived again from signed JSON. */

const CLAIM = ["page", "id", "pointer", "format", "text"];
const STATED = ["study", "chips", "formats", "models"];
const ELEMENT = /<[a-z][a-z0-9]*(\s[^<>]*)>([^<]*)(?=<\/)/g;
const ABOUT = /^[a-z0-9-]+-[0-9]+ [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{1,9}$/;

/* {about, claims}: what release.json says, and how many numbers were derived. */
async function checkContent(release) {
  let [about, claims] = [];
  try {
    const said = await Promise.all(["release.json", "claims.json"].map((name) => jsonOf(release, name)));
    [about, claims] = [said[0], said[1].get("claims").map(asClaim)];
    const number = about.get("status_list") === null ? "0" : about.get("status_list").get("number").text;
    const known = [said[0], said[1], about].map((json, at) => json.get(at < 2 ? "schema" : "status")).join(" ");
    if (
      !/^assay\/release\/1 assay\/claims\/1 (FINAL|DRAFT)$/.test(known)
      || !ABOUT.test(`${about.get("release")} ${about.get("date")} ${number}`)
    ) {
      refuse("another schema");
    }
  } catch (error) {
    if (error instanceof Unchecked) throw error;
    release.fault("release.json", "release");
    return { about: null, claims: 0 };
  }
  const documents = new Map();
  const pages = new Map([...release.listed.keys()].filter((name) => name.endsWith(".html")).map((name) => [name, new Map()]));
  for (const [page, id, pointer, format, text] of claims) {
    if (!pages.has(page)) pages.set(page, new Map());
    addTo(pages.get(page), id, text);
    let derived = null;
    try {
      derived = render(await lookUp(release, pointer, documents), format);
    } catch (error) {
      if (error instanceof Unchecked) throw error;
    }
    if (derived !== text) release.fault(page, "claim");
  }
  for (const [page, told] of pages) {
    const same = release.listed.has(page) && sameTexts(shownOn(await release.read(page)), told);
    if (!same) release.fault(page, "claim");
  }
  return { about, claims: claims.length };
}

function asClaim(claim) {
  return CLAIM.map((name) => (typeof claim.get(name) === "string" ? claim.get(name) : refuse("no text")));
}

async function jsonOf(release, name) {
  if (!release.listed.has(name)) refuse(`${name} is not listed`);
  const bytes = await release.read(name);
  if ((await sha256(bytes)) !== release.listed.get(name)) refuse(`${name} has changed`);
  const text = textOf(bytes);
  if (text === null) refuse(`${name} is not UTF-8`);
  return parseJson(text);
}

/* Texts of the elements of a page that print a value, by id. */
function shownOn(bytes) {
  const shown = new Map();
  const source = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  for (const [, written, text] of source.matchAll(ELEMENT)) {
    const attributes = Object.fromEntries(
      [...written.matchAll(/\s(class|id)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
    );
    if ("id" in attributes && (attributes.class || "").split(/\s+/).includes("v")) {
      addTo(shown, unescaped(attributes.id), unescaped(text));
    }
  }
  return shown;
}

/* HTML text without its character references, by the browser's own table of them. */
function unescaped(text) {
  if (!text.includes("&")) return text;
  return new DOMParser().parseFromString(`<body>.${text}`, "text/html").body.textContent.slice(1);
}

function addTo(texts, id, text) {
  texts.set(id, [...(texts.get(id) ?? []), text]);
}

function sameTexts(one, two) {
  const alike = (a, b) => b !== undefined && a.length === b.length && a.every((text, index) => text === b[index]);
  return one.size === two.size && [...one].every(([id, texts]) => alike(texts, two.get(id)));
}

/* The value that a pointer names, from signed JSON. */
async function lookUp(release, pointer, documents) {
  const [, place, path] = /^([^#]*)#?(.*)$/s.exec(pointer);
  const [, record, part] = /^([^/]*)\/?(.*)$/s.exec(place);
  const stated = STATED.includes(place);
  const file = { "": "report", trace: "trace/summary" }[part] || part;
  const name = stated ? `data/${place}.json` : `records/${record}/${file}.json`;
  if (!documents.has(name)) documents.set(name, await jsonOf(release, name));
  if (stated) {
    const entry = documents.get(name).get("values").get(path);
    if (entry.has("quantity")) return new Quantity(entry.get("quantity"));
    return entry.has("decimal") ? new Numeral(entry.get("decimal"), true) : entry.get("number");
  }
  const value = valueAt(documents.get(name), path);
  if (value === undefined) refuse(`nothing at ${pointer}`);
  if (typeof value === "boolean") return value ? "yes" : "no";
  const flat = Array.isArray(value) && !value.some((item) => Array.isArray(item) || item instanceof Map);
  return flat ? integer(decimal(new Numeral(String(value.length)))) + " values" : value;
}
