import assert from "node:assert/strict";
import { isExcepted } from "../../../clients/typescript/src/http/proxy_variables.ts";

for (
  const [noProxy, url, expected] of [
    ["", "https://files.example/", false],
    ["*", "https://files.example/", true],
    ["files.example", "https://files.example/", true],
    ["FILES.example", "https://Files.Example/", true],
    ["files.example", "https://my.files.example/", false],
    [".example", "https://files.example/", true],
    ["*.example", "https://files.example/", true],
    [".example", "https://example/", false],
    ["other, files.example", "https://files.example/", true],
    ["other files.example", "https://files.example/", true],
    ["files.example:443", "https://files.example/", true],
    ["files.example:443", "http://files.example/", false],
    ["files.example:80", "http://files.example/", true],
    ["files.example:8443", "https://files.example:8443/", true],
    ["files.example:8443", "https://files.example/", false],
    ["127.0.0.1", "http://127.0.0.1:54321/", true],
    ["[::1]", "http://[::1]:54321/", true],
    ["[::1]:54321", "http://[::1]:54321/", true],
    ["les.example", "https://files.example/", false],
  ] as const
) {
  Deno.test(`NO_PROXY=${noProxy} for ${url} → ${expected ? "directly" : "through the proxy"}`, () => {
    assert.equal(isExcepted(new URL(url), noProxy), expected);
  });
}
