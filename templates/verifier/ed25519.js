/* Ed25519 (RFC 8032), strict: one encoding a point, S below the group order, no small-order
   point. Only public values pass through here, so nothing needs to take constant time. */

const P = 2n ** 255n - 19n;
const L = 2n ** 252n + 27742317777372353535851937790883648493n;
const D = modP(-121665n * power(121666n, P - 2n));
const SQRT_M1 = power(2n, (P - 1n) / 4n);
const NEUTRAL = [0n, 1n, 1n, 0n];
const BASE = decodePoint(bytesOf("58" + "66".repeat(31)));

/* Whether `signature` (64 bytes) is the holder's of `key` (32 bytes) over `message`. */
async function ed25519(key, message, signature) {
  const a = decodePoint(key);
  const r = decodePoint(signature.subarray(0, 32));
  const s = littleEndian(signature.subarray(32));
  if (signature.length !== 64 || !a || !r || s >= L || isSmall(a)) return false;
  const hash = await digest("SHA-512", joined(signature.subarray(0, 32), key, message));
  const h = littleEndian(hash) % L;
  return same(twoProducts(s, BASE, h, negative(a)), r) && agreed(key, message, signature);
}

/* The browser's own Ed25519, where it has one, must hold the same signature good. */
async function agreed(key, message, signature) {
  let own;
  try {
    own = await crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
  } catch {
    return true;
  }
  if (await crypto.subtle.verify("Ed25519", own, signature, message)) return true;
  throw new Unchecked("this browser's Ed25519 and this page's do not agree.");
}

/* The point of 32 bytes, or null when they are not the one encoding of a point. */
function decodePoint(bytes) {
  if (bytes.length !== 32) return null;
  const whole = littleEndian(bytes);
  const sign = whole >> 255n;
  const y = whole & (2n ** 255n - 1n);
  if (y >= P) return null;
  const u = modP(y * y - 1n);
  const v = modP(D * y * y + 1n);
  const ratio = modP(u * power(v, P - 2n));
  let x = power(ratio, (P + 3n) / 8n);
  if (modP(x * x) !== ratio) x = modP(x * SQRT_M1);
  if (modP(x * x) !== ratio || (x === 0n && sign)) return null;
  if ((x & 1n) !== sign) x = P - x;
  return [x, y, 1n, modP(x * y)];
}

/* m·M + n·N, by Straus: both scalars are read together, bit by bit. */
function twoProducts(m, M, n, N) {
  const both = add(M, N);
  let sum = NEUTRAL;
  for (let bit = 252n; bit >= 0n; bit -= 1n) {
    sum = double(sum);
    const which = (((m >> bit) & 1n) << 1n) | ((n >> bit) & 1n);
    if (which) sum = add(sum, [null, N, M, both][which]);
  }
  return sum;
}

/* Points are X, Y, Z, T with x = X/Z, y = Y/Z, xy = T/Z. */
function add([x1, y1, z1, t1], [x2, y2, z2, t2]) {
  const a = modP((y1 - x1) * (y2 - x2));
  const b = modP((y1 + x1) * (y2 + x2));
  const c = modP(2n * D * modP(t1 * t2));
  const d = 2n * z1 * z2;
  return product(b - a, modP(d - c), modP(d + c), b + a);
}

function double([x, y, z]) {
  const a = modP(x * x);
  const b = modP(y * y);
  const g = a - b;
  return product(a + b - modP((x + y) * (x + y)), modP(2n * z * z + g), g, a + b);
}

function product(e, f, g, h) {
  return [modP(e * f), modP(g * h), modP(f * g), modP(e * h)];
}

function negative([x, y, z, t]) {
  return [modP(-x), y, z, modP(-t)];
}

function same([x1, y1, z1], [x2, y2, z2]) {
  return modP(x1 * z2 - x2 * z1) === 0n && modP(y1 * z2 - y2 * z1) === 0n;
}

function isSmall(point) {
  return same(double(double(double(point))), NEUTRAL);
}

function modP(number) {
  const rest = number % P;
  return rest < 0n ? rest + P : rest;
}

function power(base, exponent) {
  let result = 1n;
  for (let square = base % P; exponent; exponent >>= 1n) {
    if (exponent & 1n) result = (result * square) % P;
    square = (square * square) % P;
  }
  return result;
}

function littleEndian(bytes) {
  return BigInt("0x" + (hex(bytes.slice().reverse()) || "0"));
}
