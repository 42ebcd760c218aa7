/* What a release says of itself, and each number on its pages compared with signed JSON. */

const STATED = ["study", "chips", "formats", "models"];
// An element that prints a value or a statement, with what touches it as if it were of the number.
const ELEMENT = /([\p{Nd}.\u2212-]?)<[a-z]+ class="(?:v|claim)(?: [^"<>]*)?" id="([^"<>]*)"[^<>]*>([^<]*)<\/(?:[a-z]+>(\.?\p{Nd})?)?/gu;
const ABOUT = /^\["assay\/release\/1","assay\/claims\/1","([a-z0-9-]+)-(\d{1,9})","\1",\2,"(FINAL|DRAFT)","\d{4}-\d\d-\d\d","\d{4}-\d\d-\d\d",\d{1,9}\]$/;
const MEETS = new Map([["<", (a, b) => a < b], ["<=", (a, b) => a <= b], [">", (a, b) => a > b], [">=", (a, b) => a >= b]]);

/* What is known of a release: its name, status, how far it knows, and counts of what it prints. */
async function checkContent(release) {
  const documents = new Map();
  const load = (name) => {
    if (!documents.has(name)) documents.set(name, jsonOf(release, name));
    return documents.get(name);
  };
  let [about, knows, claims, listed, derived] = [];
  try {
    const [told, list] = [await load("release.json"), await load("claims.json")];
    [about, claims] = [told, list.get("claims")];
    const known = told.get("status_list") ?? new Map([["number", new Numeral("0")], ["date", told.get("date")]]);
    knows = { number: Number(known.get("number").text), date: known.get("date") };
    const named = ["release", "report", "number", "status", "date"].map((part) => told.get(part));
    const words = [told.get("schema"), list.get("schema"), ...named, knows.date, known.get("number")];
    if (!ABOUT.test(JSON.stringify(words))) refuse("another schema");
    if (![claims, list.get("statements"), told.get("claims")].every(Array.isArray)) refuse("no list");
    listed = [...claims, ...list.get("statements")].map((each) => ["page", "id", "text"].map((part) => textIn(each, part)));
    derived = await isDerived(load, told);
  } catch (error) {
    if (error instanceof Unchecked) throw error;
    release.fault("release.json", "release");
    return null;
  }
  if (!derived) release.fault("release.json", "claim");
  const pages = new Map([...release.listed.keys()].filter((name) => name.endsWith(".html")).map((name) => [name, new Map()]));
  for (const [page, id, text] of listed) {
    if (!pages.has(page)) pages.set(page, new Map());
    addTo(pages.get(page), id, `\n${text}\n`);
  }
  for (const [page, told] of pages) {
    const same = release.listed.has(page) && sameTexts(shownOn(await release.read(page)), told);
    if (!same) release.fault(page, "claim");
  }
  for (const claim of claims) {
    let holds = false;
    try {
      holds = readsAs(claim.get("text"), await lookUp(load, textIn(claim, "pointer")));
    } catch (error) {
      if (error instanceof Unchecked) throw error;
    }
    if (!holds) release.fault(claim.get("page"), "claim");
  }
  const counts = { claims: claims.length, statements: listed.length - claims.length };
  return { release: about.get("release"), draft: about.get("status") === "DRAFT", knows, ...counts };
}

/* Whether each target has the number of the signed data, and was met or not as they say. */
async function isDerived(load, about) {
  const met = [];
  let same = true;
  for (const target of about.get("claims")) {
    const value = await lookUp(load, textIn(target, "metric"));
    const a = numberOf(value instanceof Quantity ? parseJson(value.amount) : value);
    const meets = MEETS.get(target.get("comparator"))(a, numberOf(target.get("threshold")));
    const measured = target.get("measured");
    same &&= Number.isNaN(a) ? measured === null : Object.is(numberOf(measured), a);
    same &&= target.get("passed") === meets;
    met.push(meets);
  }
  const passed = met.length && met.every(Boolean);
  return same && about.get("result") === (passed ? "PASSED" : "FAILED");
}

/* As JSON tells numbers apart: a whole one exactly, another as a double, anything else as none. */
function numberOf(value) {
  if (!(value instanceof Numeral)) return NaN;
  return value.exact ? BigInt(value.text) : Number(value.text);
}

function textIn(entry, part) {
  return typeof entry.get(part) === "string" ? entry.get(part) : refuse("no text");
}

async function jsonOf(release, name) {
  if (!release.listed.has(name)) refuse(`${name} is not listed`);
  const bytes = await release.read(name, LARGEST_JSON);
  if ((await sha256(bytes)) !== release.listed.get(name)) refuse(`${name} has changed`);
  const text = textOf(bytes);
  if (text === null) refuse(`${name} is not UTF-8`);
  return parseJson(text);
}

/* Texts of the elements of a page that print a value or a statement, by id, with what touches them. */
function shownOn(bytes) {
  const shown = new Map();
  const source = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  for (const [, before, id, text, after = ""] of source.matchAll(ELEMENT)) {
    addTo(shown, unescaped(id), [before, unescaped(text), after].join("\n"));
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

/* Whether both hold the same texts under the same ids, in any order. */
function sameTexts(one, two) {
  const sorted = (texts) => JSON.stringify([...(texts ?? [])].sort());
  return one.size === two.size && [...one].every(([id, texts]) => sorted(texts) === sorted(two.get(id)));
}

/* The value that a pointer names, from signed JSON; a whole number under a name in _ns as a time. */
async function lookUp(load, pointer) {
  const [, place, path] = /^([^#]*)#?(.*)$/s.exec(pointer);
  const [, record, part] = /^([^/]*)\/?(.*)$/s.exec(place);
  if (STATED.includes(place)) {
    const entry = (await load(`data/${place}.json`)).get("values").get(path);
    const known = entry.has("exact") ? entry.has("unit") : entry.has("number");
    if (!known) refuse(`nothing at ${pointer}`);
    return entry.has("exact") ? new Quantity(textIn(entry, "exact"), entry.get("unit")) : entry.get("number");
  }
  const file = { "": "report", trace: "trace/summary" }[part] || part;
  const value = valueAt(await load(`records/${record}/${file}.json`), path);
  if (value === undefined) refuse(`nothing at ${pointer}`);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (path.endsWith("_ns") && value instanceof Numeral && value.exact) return new Quantity(value.text, "ns");
  const flat = Array.isArray(value) && !value.some((item) => Array.isArray(item) || item instanceof Map);
  return flat ? `${value.length.toLocaleString("en")} values` : value;
}
