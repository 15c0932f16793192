import assert from "node:assert/strict";
import { createCipheriv, createHash, createHmac, randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { open, seal, sealPadded, xOpen, xSeal } from "../../wireguard/crypto/aead.ts";
import { areEqual, deriveKeys, hash, mac } from "../../wireguard/crypto/hash.ts";
import { Keypair } from "../../wireguard/crypto/x25519.ts";

const fromHex = (text: string) => new Uint8Array(Buffer.from(text, "hex"));
const toHex = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");

Deno.test("hash() → what OpenSSL's BLAKE2s makes of the parts together", () => {
  const construction = new TextEncoder().encode("Noise_IKpsk2_25519_ChaChaPoly_BLAKE2s");
  assert.equal(
    toHex(hash(construction)),
    toHex(createHash("blake2s256").update(construction).digest()),
  );
  const [one, two] = [randomBytes(77), randomBytes(3)];
  assert.equal(
    toHex(hash(one, two)),
    toHex(createHash("blake2s256").update(one).update(two).digest()),
  );
});

Deno.test("mac() → 16 bytes that depend on the key, and on the parts together", () => {
  assert.equal(mac(new Uint8Array(32), new Uint8Array()).length, 16);
  assert.notDeepEqual(mac(fromHex("01"), fromHex("02")), mac(fromHex("02"), fromHex("02")));
  assert.deepEqual(
    mac(fromHex("01"), fromHex("0203")),
    mac(fromHex("01"), fromHex("02"), fromHex("03")),
  );
});

Deno.test("deriveKeys() → wireguard-go's vectors, and HKDF by OpenSSL's HMAC", () => {
  const keys = deriveKeys(new TextEncoder().encode("test-key"), {
    input: new TextEncoder().encode("test-input"),
    count: 3,
  });
  assert.deepEqual(keys.map(toHex), [
    "6f0e5ad38daba1bea8a0d213688736f19763239305e0f58aba697f9ffc41c633",
    "df1194df20802a4fe594cde27e92991c8cae66c366e8106aaa937a55fa371e8a",
    "fac6e2745a325f5dc5d11a5b165aad08b0ada28e7b4e666b7c077934a4d76c24",
  ]);
  const [chainingKey, input] = [randomBytes(32), randomBytes(50)];
  const by = (key: Uint8Array, ...parts: Uint8Array[]) => {
    const hmac = createHmac("blake2s256", key);
    for (const part of parts) hmac.update(part);
    return hmac.digest();
  };
  const extracted = by(chainingKey, input);
  const first = by(extracted, fromHex("01"));
  assert.deepEqual(
    deriveKeys(chainingKey, { input, count: 2 }).map(toHex),
    [toHex(first), toHex(by(extracted, first, fromHex("02"))), ""],
  );
});

Deno.test("seal() → what OpenSSL's ChaCha20-Poly1305 makes, for every length and counter", () => {
  for (const length of [0, 1, 15, 16, 64, 1420]) {
    for (const counter of [0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 53 - 1]) {
      const [key, ad, plaintext] = [randomBytes(32), randomBytes(32), randomBytes(length)];
      const nonce = Buffer.alloc(12);
      nonce.writeBigUInt64LE(BigInt(counter), 4);
      const cipher = createCipheriv("chacha20-poly1305", key, nonce, { authTagLength: 16 });
      cipher.setAAD(ad, { plaintextLength: length });
      const expected = Buffer.concat([
        cipher.update(plaintext),
        cipher.final(),
        cipher.getAuthTag(),
      ]);
      const sealed = seal(plaintext, { key, counter, ad });
      assert.equal(toHex(sealed), toHex(expected));
      assert.equal(toHex(open(sealed, { key, counter, ad })!), toHex(plaintext));
      sealed[length] = sealed[length]! ^ 1;
      assert.equal(open(sealed, { key, counter, ad }), null);
      assert.equal(open(expected, { key, counter: counter === 0 ? 1 : 0, ad }), null);
    }
  }
  assert.equal(open(new Uint8Array(15), { key: new Uint8Array(32), counter: 0 }), null);
});

Deno.test("sealPadded() → the plaintext and zeros, sealed in their place", () => {
  const key = randomBytes(32);
  // Bytes that an earlier call left on the heap must not be sent.
  seal(new Uint8Array(200).fill(0xff), { key, counter: 1 });
  const target = new Uint8Array(3 + 32 + 16);
  sealPadded(target, { key, counter: 7, plaintext: fromHex("aabb"), length: 32, at: 3 });
  assert.deepEqual(target.subarray(0, 3), new Uint8Array(3));
  assert.equal(toHex(open(target.subarray(3), { key, counter: 7 })!), "aabb" + "00".repeat(30));
});

Deno.test("xSeal() → the vector of draft-irtf-cfrg-xchacha-03, A.3.1", () => {
  const key = Uint8Array.from({ length: 32 }, (_, index) => 0x80 + index);
  const nonce = Uint8Array.from({ length: 24 }, (_, index) => 0x40 + index);
  const ad = fromHex("50515253c0c1c2c3c4c5c6c7");
  const text = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for " +
    "the future, sunscreen would be it.";
  const sealed = xSeal(new TextEncoder().encode(text), { key, nonce, ad });
  assert.match(toHex(sealed), /^bd6d179d3e83d43b.*c0875924c1c7987947deafd8780acf49$/);
  assert.equal(new TextDecoder().decode(xOpen(sealed, { key, nonce, ad })!), text);
  sealed[0] = sealed[0]! ^ 1;
  assert.equal(xOpen(sealed, { key, nonce, ad }), null);
});

Deno.test("Keypair → the keys and the shared secret of RFC 7748, 6.1", () => {
  const bob = new Keypair(
    fromHex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"),
  );
  assert.equal(
    toHex(bob.publicKey),
    "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
  );
  const alice = fromHex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a");
  assert.equal(
    toHex(bob.agree(alice)!),
    "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
  );
});

Deno.test("Keypair.agree() with a key of low order → null", () => {
  const own = new Keypair(randomBytes(32));
  const one = new Uint8Array(32);
  one[0] = 1;
  assert.equal(own.agree(new Uint8Array(32)), null);
  assert.equal(own.agree(one), null);
});

Deno.test("Keypair, printed in any way → without its private key", () => {
  const privateKey = randomBytes(32);
  const own = new Keypair(privateKey);
  const secrets = [
    toHex(privateKey),
    Buffer.from(privateKey).toString("base64"),
    [...privateKey].join(", "),
    [...privateKey].join(","),
  ];
  const texts = [
    inspect(own, { showHidden: true, depth: 9 }),
    Deno.inspect(own, { showHidden: true, depth: 9 }),
    JSON.stringify(own),
    String(own),
  ];
  for (const text of texts) {
    for (const secret of secrets) assert.ok(!text.includes(secret), text);
  }
  assert.ok(texts[2]!.includes(Buffer.from(own.publicKey).toString("base64")));
});

Deno.test("areEqual() → whether all bytes are the same", () => {
  assert.equal(areEqual(fromHex("0102"), fromHex("0102")), true);
  assert.equal(areEqual(fromHex("0102"), fromHex("0103")), false);
  assert.equal(areEqual(fromHex("0102"), fromHex("01")), false);
});
