import assert from "node:assert/strict";
import {
  DEFAULT_PRIVATE_KEY_FILE,
  parsePrivateKeyFile,
} from "../../../supabase/functions/agent-mesh/wireguard/private_key_file.ts";

Deno.test("parsePrivateKeyFile() of a plain absolute path → itself", () => {
  const longest = `/${"a".repeat(200)}`;
  for (const path of [DEFAULT_PRIVATE_KEY_FILE, "/run/keys/wg0-a_b.key@host", "/a..b", longest]) {
    assert.deepEqual(parsePrivateKeyFile(path), { ok: true, value: path });
  }
});

Deno.test("parsePrivateKeyFile() of a path that a shell could misread → refused", () => {
  const relative = ["", "key", "./key", "~/key", "/"];
  const shell = [
    "/a b",
    "/a;id",
    "/a\nb",
    "/$HOME",
    "/a`id`",
    "/a#b",
    "/a'b",
    '/a"b',
    "/a\\b",
    "/*",
  ];
  const rest = ["/../etc/shadow", "/a/..", "/%s", "/a%", "/%%i", `/${"a".repeat(201)}`];
  for (const path of [...relative, ...shell, ...rest]) {
    assert.equal(parsePrivateKeyFile(path).ok, false, path);
  }
});
