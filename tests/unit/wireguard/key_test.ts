import assert from "node:assert/strict";
import fc from "fast-check";
import { encodeBase64 } from "../../../supabase/functions/_shared/identity/encryption/base64.ts";
import {
  parsePublicKey,
  storedPublicKey,
} from "../../../supabase/functions/agent-mesh/wireguard/key.ts";
import { readVectors } from "./vectors.ts";

Deno.test("parsePublicKey() of the output of `wg pubkey` → the same text", () => {
  for (const key of readVectors("public_keys.txt")) {
    assert.deepEqual(parsePublicKey(key), { ok: true, value: key });
  }
});

Deno.test("parsePublicKey() of every low-order point → refused, with the reason", () => {
  for (const key of readVectors("low_order_points.txt")) {
    assert.match(refusalOf(key), /low-order point/);
  }
});

Deno.test("parsePublicKey() of every number not below 2^255-19 → refused, with the reason", () => {
  for (const key of readVectors("not_reduced.txt")) {
    assert.match(refusalOf(key), /below 2\^255-19/);
  }
});

Deno.test("parsePublicKey() of a text that `wg` refuses as a key → refused", () => {
  const key = readVectors("public_keys.txt")[0] ?? "";
  const other = [
    ["unused bits set", key.replace(/.=$/, (end) => end === "8=" ? "9=" : "B=")],
    ["URL-safe alphabet", "-_".repeat(21) + "A="],
    ["31 bytes", encodeBase64(new Uint8Array(31).fill(9))],
    ["33 bytes", encodeBase64(new Uint8Array(33).fill(9))],
    ["no padding", key.slice(0, -1)],
    ["white space behind", `${key}\n`],
    ["white space inside", ` ${key.slice(1)}`],
    ["a second line", `${key}\nPostUp = id`],
    ["nothing", ""],
  ] as const;
  for (const [what, text] of other) assert.match(refusalOf(text), /canonical base64/, what);
});

Deno.test("parsePublicKey() of any text → a key that reads back as itself, or a sentence", () => {
  const bytes = fc.uint8Array({ minLength: 30, maxLength: 34 }).map(encodeBase64);
  fc.assert(fc.property(fc.oneof(fc.string(), bytes), (text) => {
    const parsed = parsePublicKey(text);
    if (parsed.ok) assert.match(parsed.value, /^[A-Za-z0-9+/]{43}=$/);
    else assert.match(parsed.refusal, /^Must .+\.$/);
  }));
});

Deno.test("storedPublicKey() checks only the form", () => {
  const [key = ""] = readVectors("public_keys.txt");
  assert.equal(storedPublicKey(key), key);
  assert.equal(storedPublicKey(`${key}\n`), null);
  assert.equal(storedPublicKey("bm90IDMyIGJ5dGVz"), null);
});

function refusalOf(text: string): string {
  const parsed = parsePublicKey(text);
  return parsed.ok ? `${text} was accepted` : parsed.refusal;
}
