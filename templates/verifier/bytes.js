/* Bytes: text, base64, hashes, and reading fields off the front of a buffer. */

"use strict";

const UTF8 = new TextEncoder();
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/* Something in a release that is not as it must be. */
class Fault extends Error {}

function refuse(why) {
  throw new Fault(why);
}

/* What keeps a release from being checked, in words for the reader. */
class Unchecked extends Error {}

function bytesOf(hexDigits) {
  return Uint8Array.from(hexDigits.match(/../g) || [], (pair) => parseInt(pair, 16));
}

function hex(bytes) {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/* Strict UTF-8, byte order mark kept; null when the bytes are not UTF-8. */
function textOf(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function latin(bytes) {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/* The bytes of base64 text in its one canonical spelling, or null. */
function fromBase64(text) {
  try {
    const binary = atob(text);
    return btoa(binary) === text ? Uint8Array.from(binary, (c) => c.charCodeAt(0)) : null;
  } catch {
    return null;
  }
}

function joined(...parts) {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function equal(a, b) {
  return a.length === b.length && a.every((byte, index) => byte === b[index]);
}

async function digest(algorithm, bytes) {
  return new Uint8Array(await crypto.subtle.digest(algorithm, bytes));
}

async function sha256(bytes) {
  return hex(await digest("SHA-256", bytes));
}

/* As SSH prints it: SHA256: and unpadded base64 of the hash of the key's blob. */
async function fingerprint(blob) {
  return "SHA256:" + btoa(latin(await digest("SHA-256", blob))).replace(/=+$/, "");
}

function ascii(text) {
  return UTF8.encode(text);
}

function viewOf(bytes, at) {
  return new DataView(bytes.buffer, bytes.byteOffset + at);
}

/* A path as a reader may see it: nothing but plain ASCII, the rest and the backslash spelled out. */
function printable(name) {
  return name.replace(/[^ -[\]-~]/gu, (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);
}
