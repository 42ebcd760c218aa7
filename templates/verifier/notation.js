/* How a number is printed: one rule a format, rounding half-even on the decimal text. A double
   stands for its shortest decimal text. notation_vectors.json holds every implementation to it. */

const NBSP = "\u00a0";
const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const DECIMAL = { "": 0n, k: 3n, M: 6n, G: 9n, T: 12n, P: 15n, E: 18n };
const BINARY = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };
const FRACTION = { s: 0n, ms: 3n, µs: 6n, ns: 9n };

const FORMATS = {
  fixed: [1, (value, n) => fixed(decimal(value), n)],
  ratio: [1, (value, n) => fixed(decimal(value), n)],
  percent: [1, (value, n) => percent(decimal(value), n)],
  scientific: [1, (value, n) => scientific(decimal(value), n)],
  error: [0, (value) => error(decimal(value))],
  integer: [0, (value) => integer(decimal(value))],
  power_of_two: [0, powerOfTwo],
  seconds: [1, (value, n) => seconds(decimal(value), n)],
  decibel: [1, (value, n) => fixed(decimal(value), n) + NBSP + "dB"],
  bytes: [2, bytes, true],
  quantity: [2, (value, symbol, n) => quantity(value, symbol, n)],
  text: [0, words],
  documented: [0, documented],
};

/* `value` as `spelling`, such as percent(2), prints it; a Fault when it cannot. */
function render(value, spelling) {
  const call = /^([a-z_]+)(?:\(([^()]*)\))?$/.exec(spelling.trim());
  if (!call || !Object.hasOwn(FORMATS, call[1])) refuse(`no format ${spelling}`);
  const [wanted, print, optional] = FORMATS[call[1]];
  const written = (call[2] || "").split(",").map((part) => part.trim()).filter(Boolean);
  if (written.length !== wanted && !(optional && !written.length)) {
    refuse(`the format ${spelling} takes ${wanted} arguments`);
  }
  if (value === null) return "not recorded";
  if (!written.length) return print(value);
  const digits = written.pop();
  if (!/^([0-9]|1[0-9])$/.test(digits)) refuse(`the digits of ${spelling}`);
  return print(value, ...written, Number(digits));
}

/* A documented amount of a unit. */
class Quantity {
  constructor(text) {
    [this.amount, this.unit] = text.split(" ");
  }
}

/* A number as whole · 10^scale. */
function decimal(value) {
  if (!(value instanceof Numeral) || value.text.length > 400) refuse("not a number");
  const text = value.exact ? value.text : String(Number(value.text));
  const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (!parts) refuse("not a finite number");
  const [, sign, before, after = "", exponent = "0"] = parts;
  const magnitude = BigInt(before + after);
  const scale = Number(exponent) - after.length;
  if (Math.abs(String(magnitude).length - 1 + scale) > 350) refuse("beyond printing");
  return { whole: sign ? -magnitude : magnitude, scale };
}

function fixed({ whole, scale }, digits) {
  return rounded(whole, scale, 1n, digits);
}

function percent({ whole, scale }, digits) {
  return rounded(whole, scale + 2, 1n, digits) + NBSP + "%";
}

function integer({ whole, scale }) {
  if (scale < 0 && whole % 10n ** BigInt(-scale)) refuse("not a whole number");
  return rounded(whole, scale, 1n, 0);
}

function scientific({ whole, scale }, digits) {
  if (!whole) return "0";
  let exponent = String(whole).replace("-", "").length - 1 + scale;
  let mantissa = rounded(whole, scale - exponent, 1n, digits);
  if (/10(\.|$)/.test(mantissa)) {
    exponent += 1;
    mantissa = rounded(whole, scale - exponent, 1n, digits);
  }
  return mantissa + NBSP + "×" + NBSP + superscript(10, exponent);
}

function error(number) {
  const { whole, scale } = number;
  const adjusted = String(whole).replace("-", "").length - 1 + scale;
  return whole && adjusted < -4 ? scientific(number, 1) : percent(number, 2);
}

/* A double is taken as it is, since 2⁻²⁴ is not its shortest text. */
function powerOfTwo(value) {
  const { whole, scale } = decimal(value);
  const double = Number(value.text);
  const digits = scale >= 0 && whole > 0n ? (whole * 10n ** BigInt(scale)).toString(2) : "";
  let exponent = /^10*$/.test(digits) ? digits.length - 1 : NaN;
  if (!value.exact && double > 0) exponent = Math.round(Math.log2(double));
  if (Number.isNaN(exponent) || (!value.exact && 2 ** exponent !== double)) {
    refuse("not a power of two");
  }
  return superscript(2, exponent);
}

function seconds({ whole, scale }, digits) {
  for (const symbol of ["ns", "µs", "ms"]) {
    const text = rounded(whole, scale + Number(FRACTION[symbol]), 1n, digits);
    if (whole && parseFloat(text.replace(/[−,]/g, "")) < 1000) return text + NBSP + symbol;
  }
  return rounded(whole, scale, 1n, digits) + NBSP + "s";
}

function bytes(value, symbol = "B", digits = 0) {
  if (unit(symbol).base !== "B") refuse(`bytes cannot be given in ${symbol}`);
  return symbol === "B" ? integer(decimal(value)) + NBSP + "B" : quantity(value, symbol, digits);
}

/* A plain number counts the unit's base: bytes, FLOP per second. */
function quantity(value, symbol, digits) {
  const to = unit(symbol);
  let [number, from] = [value, { base: to.base, up: 1n, down: 1n }];
  if (value instanceof Quantity) [number, from] = [new Numeral(value.amount, true), unit(value.unit)];
  if (from.base !== to.base) refuse("another kind of unit");
  const { whole, scale } = decimal(number);
  return rounded(whole * from.up * to.down, scale, from.down * to.up, digits) + NBSP + symbol;
}

function words(value) {
  if (typeof value !== "string") refuse("not a text");
  return value;
}

function documented(value) {
  if (typeof value === "string") return value;
  if (value instanceof Quantity) return value.amount + NBSP + value.unit;
  const { whole, scale } = decimal(value);
  const double = Number(value.text);
  const point = !value.exact && Number.isInteger(double) && Math.abs(double) < 1e16 ? ".0" : "";
  return plain(whole, scale) + point;
}

/* The base of a unit, and the factor up/down that one of it stands for. */
function unit(symbol) {
  const found = /^(?:([kMGTPE]?)(B|bit|FLOP|OP)|([KMGTPE]i)(B))(\/s)?$/.exec(symbol);
  if (found) {
    const [, prefix, name, binary, bytes, rate = ""] = found;
    const up = binary ? 2n ** BINARY[binary] : 10n ** DECIMAL[prefix];
    return { base: (name || bytes) + rate, up, down: 1n };
  }
  if (Object.hasOwn(FRACTION, symbol)) return { base: "s", up: 1n, down: 10n ** FRACTION[symbol] };
  if (/^(FLOP|OP)\/B$/.test(symbol)) return { base: symbol, up: 1n, down: 1n };
  refuse(`no unit ${symbol}`);
}

/* whole · 10^scale / divisor, half-even at `digits` places, grouped, with a true minus sign. */
function rounded(whole, scale, divisor, digits) {
  const shift = BigInt(scale + digits);
  const top = (whole < 0n ? -whole : whole) * (shift > 0n ? 10n ** shift : 1n);
  const bottom = divisor * (shift < 0n ? 10n ** -shift : 1n);
  let quotient = top / bottom;
  const twice = 2n * (top % bottom);
  if (twice > bottom || (twice === bottom && quotient & 1n)) quotient += 1n;
  const text = String(quotient).padStart(digits + 1, "0");
  const head = text.slice(0, text.length - digits).replace(/\B(?=(\d{3})+$)/g, ",");
  const tail = digits ? "." + text.slice(-digits) : "";
  return (whole < 0n && quotient ? "−" : "") + head + tail;
}

function plain(whole, scale) {
  if (scale >= 0) return String(whole * 10n ** BigInt(scale));
  const text = String(whole).replace("-", "").padStart(1 - scale, "0");
  return (whole < 0n ? "-" : "") + text.slice(0, scale) + "." + text.slice(scale);
}

function superscript(base, exponent) {
  const raised = String(exponent).replace(/\d/g, (digit) => SUPERSCRIPT[digit]);
  return base + raised.replace("-", "⁻");
}
