/* Printed numbers, read back: a text is a value when it is the value's own text, or the value
   rounded at the last digit that is printed. Exact, in fractions of whole numbers. */

const NBSP = "\u00a0";
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const POWER = /^2([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]{1,5})$/;
const NUMBER = /^([-+]?)(\d+)(?:\.(\d*))?(?:[eE]([-+]?\d{1,9}))?$/;
const DECIMAL = { "": 0, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY = { Ki: 10n, Mi: 20n, Gi: 30n, Ti: 40n, Pi: 50n, Ei: 60n };
const FRACTION = { s: 0, ms: -3, µs: -6, ns: -9 };

/* A documented amount of a unit, exact. */
class Quantity {
  constructor(amount, unit) {
    [this.amount, this.unit] = [amount, unit];
  }
}

/* Whether a printed text is `value`; a Fault when it is no number at all. */
function readsAs(text, value) {
  if (value === null) return text === "not recorded";
  if (typeof value === "string") return text === value;
  const documented = value instanceof Quantity;
  if (documented && typeof value.unit !== "string") refuse("no unit");
  if (documented && text === value.amount + NBSP + value.unit) return true;
  const power = POWER.exec(text);
  if (power) return isPower(value, Number(plainDigits(power[1])));
  const [digits, symbol = ""] = split(plainDigits(text.replace(`${NBSP}×${NBSP}10`, "e").replaceAll(",", "")));
  const unit = unitOf(symbol);
  const counted = documented && (symbol || value.unit !== "ns");
  const given = counted ? unitOf(value.unit) : { base: unit.base, up: 1n, ten: 0 };
  if (symbol && given.base !== unit.base) return false;
  const printed = decimal(digits);
  const exact = decimal(documented ? value.amount : textOfNumeral(value));
  // Both times 10^-low are whole: twice the difference is at most one unit of the last digit.
  const [here, there] = [printed.scale + unit.ten, exact.scale + given.ten];
  const low = Math.min(here, there);
  const last = unit.up * 10n ** BigInt(here - low);
  const wrong = exact.whole * given.up * 10n ** BigInt(there - low) - printed.whole * last;
  return 2n * (wrong < 0n ? -wrong : wrong) <= last;
}

function split(text) {
  const at = text.indexOf(NBSP);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/* Raised digits, and both signs for minus, as ASCII has them. */
function plainDigits(text) {
  return text.replace(/[⁻−]/g, "-").replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹]/g, (digit) => RAISED.indexOf(digit));
}

/* A double stands for its shortest decimal text. */
function textOfNumeral(value) {
  if (!(value instanceof Numeral)) refuse("not a number");
  return value.exact ? value.text : String(Number(value.text));
}

/* A number as whole · 10^scale. */
function decimal(text) {
  const parts = NUMBER.exec(text);
  if (!parts || text.length > 4300) refuse("not a finite number");
  const [, sign, before, after = "", exponent = "0"] = parts;
  const scale = Number(exponent) - after.length;
  const size = (before + after).replace(/^0+(?=\d)/, "").length - 1 + scale;
  if (Math.max(Math.abs(size), Math.abs(scale)) > 400 && text.length < 400) refuse("beyond printing");
  if (Math.abs(scale) > 4700) refuse("beyond printing");
  const whole = BigInt(before + after);
  return { whole: sign === "-" ? -whole : whole, scale };
}

/* A double is taken as it is, since 2⁻²⁴ is not its shortest text. */
function isPower(value, exponent) {
  if (value instanceof Numeral && !value.exact) return Number(value.text) === 2 ** exponent && 2 ** exponent > 0;
  const { whole, scale } = decimal(value instanceof Quantity ? value.amount : textOfNumeral(value));
  const [up, down] = exponent < 0 ? [1n, 2n ** BigInt(-exponent)] : [2n ** BigInt(exponent), 1n];
  const [more, less] = scale < 0 ? [1n, 10n ** BigInt(-scale)] : [10n ** BigInt(scale), 1n];
  return whole * more * down === up * less;
}

/* The base of a unit, and how much of it one is: up · 10^ten. */
function unitOf(symbol) {
  const found = /^(?:([kMGTPE]?)(B|bit|FLOP|OP)|([KMGTPE]i)(B|bit|FLOP|OP))(\/s|\/B)?$/.exec(symbol);
  if (found && !(found[5] === "/B" && /^(B|bit)$/.test(found[2] || found[4]))) {
    const [, prefix, name, binary, whole, rate = ""] = found;
    return { base: (name || whole) + rate, up: binary ? 2n ** BINARY[binary] : 1n, ten: binary ? 0 : DECIMAL[prefix] };
  }
  if (Object.hasOwn(FRACTION, symbol)) return { base: "s", up: 1n, ten: FRACTION[symbol] };
  if (symbol === "" || symbol === "dB") return { base: "", up: 1n, ten: 0 };
  if (symbol === "%") return { base: "", up: 1n, ten: -2 };
  return refuse(`no unit ${symbol}`);
}
