/* What a release says of itself, and each number on its pages derived again from signed JSON. */

const CLAIM = ["page", "id", "pointer", "format", "text"];
const STATED = ["study", "chips", "formats", "models"];
const ELEMENT = /<[a-z][a-z0-9]*(\s[^<>]*)>([^<]*)(?=<\/)/g;
const DAY = /^\d{4}-\d\d-\d\d$/;

/* {about, claims}: what release.json says, and how many numbers were derived. */
async function checkContent(release) {
  const about = await listedJson(release, "release.json", "release.json", (json) => {
    const known = json.get("schema") === "assay/release/1" && ["FINAL", "DRAFT"].includes(json.get("status"));
    const named = /^[a-z0-9-]+-[0-9]+$/.test(json.get("release")) && DAY.test(json.get("date"));
    return known && named && json.has("status_list") && json;
  });
  const claims = about && (await listedJson(release, "claims.json", "claims.json", (json) => {
    const list = json.get("claims");
    const whole = list.every((claim) => CLAIM.every((name) => typeof claim.get(name) === "string"));
    return json.get("schema") === "assay/claims/1" && whole && list;
  }));
  if (!claims) return { about, claims: 0 };
  const documents = new Map();
  const told = new Map();
  for (const claim of claims) {
    const [page, id, pointer, format, text] = CLAIM.map((name) => claim.get(name));
    addTo(told, page, id, text);
    let derived = null;
    try {
      derived = render(await lookUp(release, pointer, documents), format);
    } catch (error) {
      if (error instanceof Unchecked) throw error;
    }
    if (derived !== text) release.fault(page, "claim");
  }
  const pages = [...release.listed.keys()].filter((name) => name.endsWith(".html"));
  for (const page of new Set([...pages, ...told.keys()])) {
    const shown = pages.includes(page) && shownOn(await release.read(page));
    if (!shown || !sameTexts(shown, told.get(page) || new Map())) release.fault(page, "claim");
  }
  return { about, claims: claims.length };
}

/* A listed JSON document as `read` sees it; without one, null and a fault. */
async function listedJson(release, name, blamed, read) {
  let found = null;
  try {
    found = read(await jsonOf(release, name)) || null;
  } catch (error) {
    if (error instanceof Unchecked) throw error;
  }
  if (!found) release.fault(blamed, "release");
  return found;
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
      addTo(new Map([["", shown]]), "", unescaped(attributes.id), unescaped(text));
    }
  }
  return shown;
}

/* HTML text without its character references, by the browser's own table of them. */
function unescaped(text) {
  if (!text.includes("&")) return text;
  return new DOMParser().parseFromString(`<body>.${text}`, "text/html").body.textContent.slice(1);
}

function addTo(pages, page, id, text) {
  if (!pages.has(page)) pages.set(page, new Map());
  const texts = pages.get(page);
  texts.set(id, [...(texts.get(id) || []), text]);
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
    if (entry.has("decimal")) return new Numeral(entry.get("decimal"), true);
    return entry.has("quantity") ? new Quantity(entry.get("quantity")) : entry.get("number");
  }
  const value = valueAt(documents.get(name), path);
  if (value === undefined) refuse(`nothing at ${pointer}`);
  if (typeof value === "boolean") return value ? "yes" : "no";
  const flat = Array.isArray(value) && !value.some((item) => Array.isArray(item) || item instanceof Map);
  return flat ? integer(decimal(new Numeral(String(value.length)))) + " values" : value;
}
