import assert from "node:assert/strict";
import { inspect } from "node:util";
import { encodeBase64 } from "../../../supabase/functions/_shared/wireguard/base64.ts";
import {
  generatePresharedKey,
  pairOf,
  PresharedKey,
} from "../../../supabase/functions/_shared/wireguard/psk.ts";
import {
  openPresharedKey,
  PskOpeningError,
  sealingKeyIdOf,
  sealPresharedKey,
} from "../../../supabase/functions/_shared/wireguard/psk_sealing.ts";
import {
  parseSealingKeys,
  type SealingKeys,
} from "../../../supabase/functions/_shared/wireguard/sealing_key.ts";

const owner = { ...pairOf("bob", "alice"), version: 3 };
const oldKey = encodeBase64(new Uint8Array(32).fill(1));
const newKey = encodeBase64(new Uint8Array(32).fill(2));

Deno.test("a sealed PSK opens to the same 32 bytes, for either order of the pair", () => {
  const psk = generatePresharedKey();
  const sealed = sealPresharedKey(psk, { owner, sealingKeys: keys(newKey) });
  const opened = openPresharedKey(sealed, {
    owner: { ...pairOf("alice", "bob"), version: 3 },
    sealingKeys: keys(newKey),
  });
  assert.deepEqual(opened.revealBytes(), psk.revealBytes());
  assert.match(opened.revealBase64(), /^[A-Za-z0-9+/]{43}=$/);
});

Deno.test("the same PSK sealed twice → two texts, neither of which holds it", () => {
  const psk = generatePresharedKey();
  const sealed = Array.from({ length: 2 }, () => {
    return sealPresharedKey(psk, { owner, sealingKeys: keys(newKey) });
  });
  assert.notEqual(sealed[0], sealed[1]);
  for (const text of sealed) {
    assert.match(text, /^v1\.[0-9a-f]{16}\.[A-Za-z0-9+/]+={0,2}$/);
    assert.ok(!text.includes(psk.revealBase64().slice(0, 16)));
  }
});

Deno.test("two generated PSKs differ", () => {
  assert.notDeepEqual(generatePresharedKey().revealBytes(), generatePresharedKey().revealBytes());
});

Deno.test("a PSK sealed under an older key of the list opens; the newest key seals", () => {
  const psk = generatePresharedKey();
  const sealed = sealPresharedKey(psk, { owner, sealingKeys: keys(oldKey) });
  const both = keys(`${newKey}, ${oldKey}`);
  const opened = openPresharedKey(sealed, { owner, sealingKeys: both });
  assert.deepEqual(opened.revealBytes(), psk.revealBytes());
  assert.equal(sealingKeyIdOf(sealed), both[1]?.id);
  assert.equal(sealingKeyIdOf(sealPresharedKey(psk, { owner, sealingKeys: both })), both[0].id);
});

Deno.test("a PSK sealed under a key that is not in the list → unknown_sealing_key", () => {
  const sealed = sealPresharedKey(generatePresharedKey(), { owner, sealingKeys: keys(oldKey) });
  assert.equal(reasonOf(sealed, { sealingKeys: keys(newKey) }), "unknown_sealing_key");
});

Deno.test("a sealed PSK put into another row → not_authentic", () => {
  const sealed = sealPresharedKey(generatePresharedKey(), { owner, sealingKeys: keys(newKey) });
  const others = [{ ...owner, version: 4 }, { ...pairOf("alice", "bobby"), version: 3 }, {
    ...pairOf("carol", "bob"),
    version: 3,
  }];
  for (const other of others) assert.equal(reasonOf(sealed, { owner: other }), "not_authentic");
});

Deno.test("a sealed PSK with any character changed → refused", () => {
  const sealed = sealPresharedKey(generatePresharedKey(), { owner, sealingKeys: keys(newKey) });
  for (let position = 0; position < sealed.length; position += 1) {
    const other = sealed[position] === "5" ? "6" : "5";
    const changed = sealed.slice(0, position) + other + sealed.slice(position + 1);
    assert.notEqual(reasonOf(changed, {}), "opened", `character ${position}`);
  }
});

Deno.test("a text that was never sealed → malformed", () => {
  for (const text of ["", "v1", "v2.0123456789abcdef.AAAA", "v1.0123456789abcdef.AAAA"]) {
    assert.equal(reasonOf(text, {}), "malformed");
  }
});

Deno.test("parseSealingKeys() of anything but keys of 32 bytes → refused without showing it", () => {
  const short = encodeBase64(new Uint8Array(16));
  for (const text of ["", ",", `${newKey},`, `${newKey};${oldKey}`, short, `${newKey},${short}`]) {
    const parsed = parseSealingKeys(text);
    assert.ok(!parsed.ok);
    assert.ok(text.length < 5 || !parsed.refusal.includes(text.slice(0, 5)));
  }
});

Deno.test("printing or serialising a PSK or a sealing key shows nothing secret", () => {
  const psk = generatePresharedKey();
  const [sealingKey] = keys(newKey);
  for (const secret of [psk, sealingKey]) {
    const shown = [String(secret), JSON.stringify(secret), inspect(secret), Deno.inspect(secret)];
    const { length } = secret.revealBytes();
    assert.equal(length, 32);
    for (const text of shown) {
      assert.ok(!text.includes(encodeBase64(secret.revealBytes())));
      assert.ok(!text.includes(secret.revealBytes().join()) && !/Uint8Array/.test(text));
    }
  }
});

Deno.test("a PSK of another length → TypeError", () => {
  assert.throws(() => new PresharedKey(new Uint8Array(31)), TypeError);
});

function keys(secretText: string): SealingKeys {
  const parsed = parseSealingKeys(secretText);
  assert.ok(parsed.ok);
  return parsed.value;
}

function reasonOf(
  sealed: string,
  changed: { owner?: typeof owner; sealingKeys?: SealingKeys },
): string {
  try {
    openPresharedKey(sealed, { owner, sealingKeys: keys(newKey), ...changed });
    return "opened";
  } catch (error) {
    assert.ok(error instanceof PskOpeningError);
    return error.reason;
  }
}
