/** The values that a field's value can change into. */
import type { Json, JsonObject } from "../conformance/client.ts";
import type { Random } from "../seeds/random.ts";

/** Values of every type, at the bounds of types, and with a special meaning in some language. */
const HOSTILE_VALUES: readonly Json[] = [
  null,
  true,
  false,
  0,
  -0,
  1,
  -1,
  0.5,
  65_536,
  2 ** 31,
  2 ** 53,
  1e308,
  -1e308,
  "",
  " ",
  ".",
  "..",
  "/",
  "\\",
  "%",
  "%i",
  "null",
  "\u0000",
  "\ud800",
  "\u{1f600}",
  "0",
  "-1",
  "NaN",
  "1e999",
  "true",
  "[]",
  "{}",
  "' or 1=1 --",
  "$1",
  "${x}",
  "a\nb",
  "\u202e",
  "e\u0301",
  "infinity",
  "epoch",
  "2026-02-30T00:00:00Z",
  "0000-01-01T00:00:00Z",
  "9999-12-31T23:59:59Z",
  "art_",
  `art_${"0".repeat(32)}`,
  `grant_${"f".repeat(32)}`,
  `g_${"A".repeat(43)}`,
  "ak_",
  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  "[::1]:1",
  "127.1:1",
  "a:65536",
  "x.:1",
  "text/plain; charset=utf-8",
  "text/",
  `${"a/".repeat(600)}b`,
  "x".repeat(5000),
  "zzzzz",
  "YQ",
  "YQ==",
  "W10",
  "eyJ9",
  "bnVsbA",
  "-_-_",
  [],
  {},
  [[]],
  [null],
  { length: 1 },
  { toString: null },
  [1, "a", {}],
];

const HOSTILE_CHARACTERS = [
  "\u0000",
  "\t",
  "\n",
  "\r",
  " ",
  "\u00a0",
  "\u007f",
  "\u2028",
  "\ufeff",
  "\ud83d",
  "\udc00",
  '"',
  "'",
  "\\",
  "/",
  "%",
  "#",
  "?",
  "&",
  "=",
  ";",
  "[",
  "]",
  "{",
  "}",
  "$",
  "`",
  "|",
  "ä",
  "ß",
  "İ",
  "ſ",
  "K",
  "\u{10ffff}",
  "a",
  "Z",
  "0",
  "-",
  ".",
  ":",
  "@",
  "+",
  "*",
];

const UNKNOWN_NAMES = ["__proto__", "constructor", "caller", "kind", "key_hash", "", "agent_id "];

/** Returns `value` with one change somewhere inside it. */
function mutateValue(value: Json | undefined, random: Random): Json {
  if (value === undefined || random.isOneIn(4)) return random.pick(HOSTILE_VALUES);
  if (random.isOneIn(12)) return random.isOneIn(2) ? [value] : { value };
  if (typeof value === "string") return mutateText(value, random);
  if (typeof value === "number") return mutateNumber(value, random);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return mutateObject(value, random);
  }
  return random.pick(HOSTILE_VALUES);
}

export function mutateText(text: string, random: Random): string {
  const at = random.below(text.length + 1);
  const character = random.pick(HOSTILE_CHARACTERS);
  return random.pick([
    () => text.slice(0, at) + character + text.slice(at),
    () => text.slice(0, at) + character + text.slice(at + 1),
    () => text.slice(0, at),
    () => text.slice(at),
    () => text.slice(0, at) + text.slice(at + 1),
    () => text + text,
    () => text + character.repeat(1 + random.below(200)),
    () => text.toUpperCase(),
    () => [...text].reverse().join(""),
  ])();
}

/** Returns an object with one field changed, removed, added or renamed. */
export function mutateObject(object: JsonObject, random: Random): JsonObject {
  const names = Object.keys(object);
  const name = names.length > 0 ? random.pick(names) : random.pick(UNKNOWN_NAMES);
  const { [name]: value, ...others } = object;
  const kind = random.below(10);
  if (kind === 0) return others;
  if (kind === 1) return withField(object, random.pick(UNKNOWN_NAMES), random.pick(HOSTILE_VALUES));
  if (kind === 2 && value !== undefined) return withField(others, mutateText(name, random), value);
  if (kind === 3 && names.length > 1) {
    const other = random.pick(names);
    return { ...object, [name]: object[other]!, [other]: value! };
  }
  return withField(object, name, mutateValue(value, random));
}

function mutateNumber(number: number, random: Random): Json {
  return random.pick<Json>([
    number + 1,
    number - 1,
    -number,
    number + 0.5,
    number * 1e6,
    number / 3,
    String(number),
  ]);
}

/** This also works for the name `__proto__`: assigning to it would not create a field. */
function withField(object: JsonObject, name: string, value: Json): JsonObject {
  return Object.fromEntries([...Object.entries(object), [name, value]]);
}
