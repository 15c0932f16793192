/** Values near the boundary between what a field accepts and what it refuses. */
import { Buffer } from "node:buffer";
import fc from "fast-check";

/** The pieces of texts: parts of every field's values, and characters that cause trouble. */
const PIECES = [
  "a",
  "Z9",
  "é",
  "😀",
  "\u202e",
  ".",
  "..",
  "/",
  "-",
  "_",
  "@",
  ":",
  " ",
  "+",
  "=",
  ";",
  "%i",
  "%",
  "\\",
  "\0",
  "\n",
  "\x7f",
  "\x85",
  "\ud800",
  "[",
  "]",
  "::1",
  "198.51.100.1",
  "51820",
  "name.example",
  "text/plain",
  "charset=",
  '"',
  "~",
  "grant_",
  "T",
  "Z",
  "+00:00",
  "31",
  ",",
];

const joined = fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((parts) =>
  parts.join("")
);

function textOf(characters: string, size: { minLength: number; maxLength: number }) {
  return fc.string({ unit: fc.constantFrom(...characters), ...size });
}

const HEX = "0123456789abcdef";
const DIGITS = "0123456789";
const LETTERS = "abcdefghijklmnopqrstuvwxyz";

const agentId = fc.tuple(
  textOf(`${LETTERS}${LETTERS.toUpperCase()}${DIGITS}`, { minLength: 1, maxLength: 1 }),
  textOf(`${LETTERS}._:@-`, { minLength: 0, maxLength: 130 }),
).map((parts) => parts.join(""));

const key = fc.array(
  fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 6 }),
    fc.constantFrom(".", "..", "...", "..a", ".a", "a.", ""),
  ),
  { minLength: 1, maxLength: 5 },
).map((segments) => segments.join("/"));

const longKey = fc.tuple(fc.constantFrom("a", "é", "€", "😀"), fc.integer({ min: 250, max: 1030 }))
  .map(([character, count]) => character.repeat(count));

const timestamp = fc.tuple(
  fc.date({ min: new Date("0001-01-01"), max: new Date("9999-12-31"), noInvalidDate: true }),
  textOf(DIGITS, { minLength: 0, maxLength: 10 }),
  fc.constantFrom("Z", "+00:00", "-00:00", "+01:00", ""),
).map(([date, fraction, zone]) =>
  `${date.toISOString().slice(0, 19)}${fraction && `.${fraction}`}${zone}`
);

const publicKey = fc.uint8Array({ minLength: 31, maxLength: 33 })
  .map((bytes) => Buffer.from(bytes).toString("base64"));

const endpoint = fc.tuple(
  fc.oneof(
    fc.domain(),
    fc.ipV4(),
    fc.ipV6().map((address) => `[${address}]`),
    fc.constantFrom("Name", "a_b", "[2001:db8::7]", "203.0.113.7", `${"a".repeat(63)}.b`),
  ),
  fc.integer({ min: 0, max: 70_000 }),
).map(([host, port]) => `${host}:${port}`);

const mime = fc.tuple(
  fc.constantFrom("text", "application", "x-a.b+c", "-"),
  fc.constantFrom("plain", "vnd.a+json", "*", "a".repeat(128)),
  fc.constantFrom("", "; charset=utf-8", ';a="b\\"c"', ` ; b=${"c".repeat(240)}`, ";"),
).map(([type, subtype, parameters]) => `${type}/${subtype}${parameters}`);

const privateKeyFile = fc.array(
  fc.constantFrom("etc", "wireguard", "%i.key", "%", "..", ".", "...", "..a", "", "a b", "%i%i"),
  { maxLength: 6 },
).map((segments) => `/${segments.join("/")}`);

const position = fc.tuple(
  fc.constantFrom("", "grant_", "1:2:", "81234.", "7.grant_"),
  textOf(HEX, { minLength: 0, maxLength: 33 }),
).map((parts) => parts.join(""));

const VALID_TEXTS = fc.oneof(
  agentId,
  key,
  longKey,
  timestamp,
  publicKey,
  endpoint,
  mime,
  privateKeyFile,
  position,
  position.map((text) => `${text}0`),
  textOf(HEX, { minLength: 32, maxLength: 32 }).map((digits) => `grant_${digits}`),
  textOf(HEX, { minLength: 32, maxLength: 32 }).map((digits) => `17.grant_${digits}`),
  textOf(DIGITS, { minLength: 1, maxLength: 18 }).map((digits) => `${digits}.0`),
  textOf(HEX + "ABCDEF", { minLength: 64, maxLength: 65 }),
  key.map((text) => Buffer.from(text).toString("base64url")),
  fc.constantFrom("tcp", "udp", "nftables", "none"),
);

/** Texts, whole numbers, lists and whatever else JSON has. */
export const values: fc.Arbitrary<unknown> = fc.oneof(
  { arbitrary: VALID_TEXTS, weight: 12 },
  { arbitrary: joined, weight: 6 },
  fc.oneof(fc.integer({ min: -1, max: 1001 }), fc.integer(), fc.maxSafeInteger(), fc.double()),
  fc.array(fc.constantFrom("rule.requested", "grant.created", "nothing"), { maxLength: 3 }),
  fc.jsonValue({ maxDepth: 1 }),
  fc.constant(undefined),
);
