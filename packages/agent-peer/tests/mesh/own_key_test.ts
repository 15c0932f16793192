import assert from "node:assert/strict";
import { chmod, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { newPrivateKey, readOrMakeKey } from "../../mesh/service/own_key.ts";
import { formatKey } from "../../wireguard/key.ts";

async function withFolder(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    await use(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("newPrivateKey() → 32 bytes that X25519 does not change, another one each time", () => {
  const [one, other] = [newPrivateKey(), newPrivateKey()];
  assert.notDeepEqual(one, other);
  for (const key of [one, other]) {
    assert.equal(key.length, 32);
    assert.equal(key[0]! & 7, 0);
    assert.equal(key[31]! & 0xc0, 0x40);
  }
});

Deno.test("readOrMakeKey() without a file → made for its owner alone; the next time the same key", async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "key");
    const key = await readOrMakeKey(file);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal(await readFile(file, "utf8"), `${formatKey(key)}\n`);
    assert.deepEqual(await readOrMakeKey(file), key);
  });
});

Deno.test("readOrMakeKey() of a file that others can read, or without a key → an error without its text, and the file stays", async () => {
  await withFolder(async (folder) => {
    const file = join(folder, "key");
    const text = `${formatKey(newPrivateKey())}\n`;
    await writeFile(file, text, { mode: 0o600 });
    await chmod(file, 0o640);
    await assert.rejects(readOrMakeKey(file), /chmod 600/);
    assert.equal(await readFile(file, "utf8"), text);
    await chmod(file, 0o600);
    for (const wrong of ["", "secret", `${text.trim().slice(0, 40)}`]) {
      await writeFile(file, wrong);
      await assert.rejects(readOrMakeKey(file), (error: Error) => {
        assert.match(error.message, /has no private key/);
        return wrong === "" || !error.message.includes(wrong);
      });
      assert.equal(await readFile(file, "utf8"), wrong);
    }
    await assert.rejects(readOrMakeKey(join(folder, "missing/key")), { code: "ENOENT" });
  });
});
