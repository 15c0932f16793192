import assert from "node:assert/strict";
import process from "node:process";
import { EXIT } from "../../exit_codes.ts";
import { runAgentFiles } from "../../run.ts";

for (const url of ["turn:relay.example.com:3478", "stun.example.com", "stun:"]) {
  Deno.test(`mesh up --stun-server ${url} → refused, with the form of one`, async () => {
    const write = process.stderr.write;
    let errors = "";
    process.stderr.write = (text: string | Uint8Array) => {
      errors += String(text);
      return true;
    };
    try {
      assert.equal(await runAgentFiles(["mesh", "up", "--stun-server", url]), EXIT.usage);
    } finally {
      process.stderr.write = write;
    }
    assert.ok(
      errors.includes(`${url} is not the URL of a STUN server, such as stun:host:3478.`),
      errors,
    );
  });
}
