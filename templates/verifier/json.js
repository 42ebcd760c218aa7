/* Strict JSON (RFC 8259): no repeated key, no byte order mark, nothing deep, numbers as written. */

const DEEPEST = 64;
const TOKEN = /[ \t\n\r]*(?:([{}[\],:]|true|false|null)|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|("(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"))/y;

/* A number as its text: of JSON, where a point or an exponent makes it a double, or exact. */
class Numeral {
  constructor(text, exact = /^-?\d+$/.test(text)) {
    this.text = text;
    this.exact = exact;
  }

  toJSON() {
    return this.exact ? Number(this.text) : this.text;
  }
}

/* The value of a JSON text: objects are Maps, numbers Numerals. A Fault if it is not strict. */
function parseJson(text) {
  let at = 0;
  const next = () => {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    if (!found) refuse("no token");
    at = TOKEN.lastIndex;
    return found;
  };
  const read = ([, sign, digits, quoted], depth) => {
    if (depth > DEEPEST) refuse("too deep");
    if (digits && digits.length > 4300) refuse("a number without end");
    if (digits) return new Numeral(digits);
    if (quoted) return JSON.parse(quoted);
    if (sign === "{") return object(depth);
    if (sign === "[") return array(depth);
    if (sign.length < 4) refuse("no value");
    return JSON.parse(sign);
  };
  const object = (depth) => {
    const members = new Map();
    let token = next();
    while (token[1] !== "}" || members.size) {
      const key = token[3] && JSON.parse(token[3]);
      if (key === undefined || next()[1] !== ":") refuse("no key");
      if (members.has(key)) refuse("a key twice");
      members.set(key, read(next(), depth + 1));
      token = next();
      if (token[1] === "}") break;
      if (token[1] !== ",") refuse("no comma");
      token = next();
    }
    return members;
  };
  const array = (depth) => {
    const items = [];
    let token = next();
    while (token[1] !== "]" || items.length) {
      items.push(read(token, depth + 1));
      token = next();
      if (token[1] === "]") break;
      if (token[1] !== ",") refuse("no comma");
      token = next();
    }
    return items;
  };
  const value = read(next(), 1);
  if (/[^ \t\n\r]/.test(text.slice(at))) refuse("more after the value");
  return value;
}

/* The value at a JSON pointer (RFC 6901), or undefined. */
function valueAt(document, pointer) {
  let value = document;
  for (const token of pointer.split("/").slice(1)) {
    const key = token.replace(/~1/g, "/").replace(/~0/g, "~");
    if (value instanceof Map) value = value.get(key);
    else if (Array.isArray(value) && /^(0|[1-9]\d{0,5})$/.test(key)) value = value[key];
    else return undefined;
  }
  return value;
}
