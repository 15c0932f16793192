import assert from "node:assert/strict";
import { inspect } from "node:util";
import { encodeBase64 } from "../../../supabase/functions/_shared/identity/encryption/base64.ts";
import {
  generatePresharedKey,
  pairOf,
  PresharedKey,
} from "../../../supabase/functions/agent-mesh/wireguard/psk.ts";
import {
  decryptPresharedKey,
  encryptPresharedKey,
} from "../../../supabase/functions/agent-mesh/wireguard/psk_encryption.ts";
import {
  DecryptionError,
  encryptionKeyIdOf,
} from "../../../supabase/functions/_shared/identity/encryption/encrypted_secret.ts";
import {
  type EncryptionKeys,
  parseEncryptionKeys,
} from "../../../supabase/functions/_shared/identity/encryption/encryption_key.ts";

const owner = { ...pairOf("bob", "alice"), version: 3 };
const oldKey = encodeBase64(new Uint8Array(32).fill(1));
const newKey = encodeBase64(new Uint8Array(32).fill(2));

Deno.test("an encrypted PSK decrypts to the same 32 bytes, for either order of the pair", () => {
  const psk = generatePresharedKey();
  const encrypted = encryptPresharedKey(psk, { owner, encryptionKeys: keys(newKey) });
  const decrypted = decryptPresharedKey(encrypted, {
    owner: { ...pairOf("alice", "bob"), version: 3 },
    encryptionKeys: keys(newKey),
  });
  assert.deepEqual(decrypted.revealBytes(), psk.revealBytes());
  assert.match(decrypted.revealBase64(), /^[A-Za-z0-9+/]{43}=$/);
});

Deno.test("the same PSK encrypted twice → two different texts, without the PSK in either", () => {
  const psk = generatePresharedKey();
  const encrypted = Array.from({ length: 2 }, () => {
    return encryptPresharedKey(psk, { owner, encryptionKeys: keys(newKey) });
  });
  assert.notEqual(encrypted[0], encrypted[1]);
  for (const text of encrypted) {
    assert.match(text, /^v1\.[0-9a-f]{16}\.[A-Za-z0-9+/]+={0,2}$/);
    assert.ok(!text.includes(psk.revealBase64().slice(0, 16)));
  }
});

Deno.test("two generated PSKs differ", () => {
  assert.notDeepEqual(generatePresharedKey().revealBytes(), generatePresharedKey().revealBytes());
});

Deno.test("a PSK encrypted under an older key of the list decrypts; the newest key encrypts", () => {
  const psk = generatePresharedKey();
  const encrypted = encryptPresharedKey(psk, { owner, encryptionKeys: keys(oldKey) });
  const both = keys(`${newKey}, ${oldKey}`);
  const decrypted = decryptPresharedKey(encrypted, { owner, encryptionKeys: both });
  assert.deepEqual(decrypted.revealBytes(), psk.revealBytes());
  assert.equal(encryptionKeyIdOf(encrypted), both[1]?.id);
  assert.equal(
    encryptionKeyIdOf(encryptPresharedKey(psk, { owner, encryptionKeys: both })),
    both[0].id,
  );
});

Deno.test("a PSK encrypted under a key that is not in the list → unknown_encryption_key", () => {
  const encrypted = encryptPresharedKey(generatePresharedKey(), {
    owner,
    encryptionKeys: keys(oldKey),
  });
  assert.equal(reasonOf(encrypted, { encryptionKeys: keys(newKey) }), "unknown_encryption_key");
});

Deno.test("an encrypted PSK moved to another row → not_authentic", () => {
  const encrypted = encryptPresharedKey(generatePresharedKey(), {
    owner,
    encryptionKeys: keys(newKey),
  });
  const others = [{ ...owner, version: 4 }, { ...pairOf("alice", "bobby"), version: 3 }, {
    ...pairOf("carol", "bob"),
    version: 3,
  }];
  for (const other of others) assert.equal(reasonOf(encrypted, { owner: other }), "not_authentic");
});

Deno.test("an encrypted PSK with any character changed → refused", () => {
  const encrypted = encryptPresharedKey(generatePresharedKey(), {
    owner,
    encryptionKeys: keys(newKey),
  });
  for (let position = 0; position < encrypted.length; position += 1) {
    const other = encrypted[position] === "5" ? "6" : "5";
    const changed = encrypted.slice(0, position) + other + encrypted.slice(position + 1);
    assert.notEqual(reasonOf(changed, {}), "decrypted", `character ${position}`);
  }
});

Deno.test("a text that was never encrypted → malformed", () => {
  for (const text of ["", "v1", "v2.0123456789abcdef.AAAA", "v1.0123456789abcdef.AAAA"]) {
    assert.equal(reasonOf(text, {}), "malformed");
  }
});

Deno.test("parseEncryptionKeys() of anything but keys of 32 bytes → refused without showing it", () => {
  const short = encodeBase64(new Uint8Array(16));
  for (const text of ["", ",", `${newKey},`, `${newKey};${oldKey}`, short, `${newKey},${short}`]) {
    const parsed = parseEncryptionKeys(text);
    assert.ok(!parsed.ok);
    assert.ok(text.length < 5 || !parsed.refusal.includes(text.slice(0, 5)));
  }
});

Deno.test("printing or serialising a PSK or an encryption key shows nothing secret", () => {
  const psk = generatePresharedKey();
  const [encryptionKey] = keys(newKey);
  for (const secret of [psk, encryptionKey]) {
    const shown = [String(secret), JSON.stringify(secret), inspect(secret), Deno.inspect(secret)];
    const { length } = secret.revealBytes();
    assert.equal(length, 32);
    for (const text of shown) {
      assert.ok(!text.includes(encodeBase64(secret.revealBytes())));
      assert.ok(!text.includes(secret.revealBytes().join()) && !/Uint8Array/.test(text));
    }
  }
});

Deno.test("a PSK of another length than 32 bytes → TypeError", () => {
  assert.throws(() => new PresharedKey(new Uint8Array(31)), TypeError);
});

function keys(secretText: string): EncryptionKeys {
  const parsed = parseEncryptionKeys(secretText);
  assert.ok(parsed.ok);
  return parsed.value;
}

function reasonOf(
  encrypted: string,
  changed: { owner?: typeof owner; encryptionKeys?: EncryptionKeys },
): string {
  try {
    decryptPresharedKey(encrypted, { owner, encryptionKeys: keys(newKey), ...changed });
    return "decrypted";
  } catch (error) {
    assert.ok(error instanceof DecryptionError);
    return error.reason;
  }
}
