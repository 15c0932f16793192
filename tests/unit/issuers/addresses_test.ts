import assert from "node:assert/strict";
import {
  fetchJson,
  isPublic,
  urlComplaint,
} from "../../../supabase/functions/_shared/identity/issuers/fetch_json.ts";

const GOOD = [
  "https://token.actions.githubusercontent.com",
  "https://gitlab.example.com:8443/oidc",
  "https://container.googleapis.com/v1/projects/p/locations/l/clusters/c",
  "https://issuer.example.com/",
];

const BAD: readonly (readonly [string, RegExp])[] = [
  ["http://issuer.example.com", /https/],
  ["http://127.0.0.1:8080", /https/],
  ["https://127.0.0.1", /not an address/],
  ["https://127.1", /spelled as https:\/\/127\.0\.0\.1/],
  ["https://0x7f000001", /spelled as/],
  ["https://2130706433", /spelled as/],
  ["https://8.8.8.8", /not an address/],
  ["https://[::1]", /not an address/],
  ["https://[2606:4700::1111]", /not an address/],
  ["https://localhost", /public DNS name/],
  ["https://LOCALHOST", /spelled as/],
  ["https://localhost.", /public DNS name/],
  ["https://localhost..", /public DNS name/],
  ["https://metadata.google.internal..", /public DNS name/],
  ["https://api.localhost", /public DNS name/],
  ["https://kubernetes", /public DNS name/],
  ["https://kubernetes.default.svc.cluster.local", /public DNS name/],
  ["https://metadata.google.internal", /public DNS name/],
  ["https://router.home.arpa", /public DNS name/],
  ["https://user@issuer.example.com", /without user/],
  ["https://issuer.example.com?a=b", /without user, query/],
  ["https://issuer.example.com#a", /without user, query or fragment/],
  ["https://issuer.example.com/a/../b", /spelled as/],
  ["https://issuer.example.com:443", /spelled as/],
  ["https:\\\\issuer.example.com", /./],
  [" https://issuer.example.com", /./],
  ["file:///etc/passwd", /https/],
  ["issuer.example.com", /URL/],
  ["", /URL/],
];

Deno.test("an issuer's address → https, a public DNS name, spelled one way; loopback only where it is allowed", () => {
  for (const url of GOOD) assert.equal(urlComplaint(url, { allowLoopback: false }), null, url);
  for (const [url, said] of BAD) {
    assert.match(urlComplaint(url, { allowLoopback: false }) ?? "nothing", said, url);
  }
  assert.equal(urlComplaint("http://127.0.0.1:8080", { allowLoopback: true }), null);
  for (const url of ["http://127.0.0.2", "http://localhost", "http://10.0.0.1", "http://[::1]"]) {
    assert.notEqual(urlComplaint(url, { allowLoopback: true }), null, url);
  }
});

Deno.test("an address that a name has → of the internet or not, also in IPv6's forms of IPv4", () => {
  for (const address of ["8.8.8.8", "1.1.1.1", "192.0.1.1", "2606:4700::1111", "172.32.0.1"]) {
    assert.ok(isPublic(address), address);
  }
  for (
    const address of [
      "127.0.0.1",
      "10.1.2.3",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "169.254.169.254",
      "100.64.0.1",
      "0.0.0.0",
      "224.0.0.1",
      "255.255.255.255",
      "198.18.0.1",
      "192.0.0.8",
      "::",
      "::1",
      "::ffff:127.0.0.1",
      "::ffff:7f00:1",
      "::127.0.0.1",
      "fc00::1",
      "fd12::1",
      "fe80::1",
      "fec0::1",
      "ff02::1",
      "64:ff9b::7f00:1",
      "2002:7f00:1::",
      "2001:0:7f00:1::",
      "no address",
    ]
  ) assert.ok(!isPublic(address), address);
});

Deno.test("a name whose addresses are of the internet → asked; with one inside among them → not asked", async () => {
  const { resolveDns } = Deno;
  const { fetch } = globalThis;
  try {
    const asked: string[] = [];
    globalThis.fetch = (input) => {
      asked.push(String(input));
      return Promise.resolve(Response.json({ keys: [] }));
    };
    const options = { allowLoopback: false, signal: AbortSignal.timeout(5_000) };
    const ask = (v4: string[], v6: string[]) => {
      const lookUp = (_: string, type: string) => Promise.resolve(type === "A" ? v4 : v6);
      Object.assign(Deno, { resolveDns: lookUp });
      return fetchJson("https://issuer.example.com/keys", options);
    };
    assert.deepEqual(await ask(["8.8.8.8", "1.1.1.1"], ["2606:4700::1111"]), { keys: [] });
    assert.deepEqual(asked, ["https://issuer.example.com/keys"]);
    await assert.rejects(ask(["8.8.8.8", "169.254.169.254"], []), /inside/);
    await assert.rejects(ask(["8.8.8.8"], ["::1"]), /inside/);
    assert.equal(asked.length, 1);
    // The deadline also applies to a name server that never answers.
    const neverAnswers = (_: string, __: string, { signal }: { signal: AbortSignal }) =>
      new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    Object.assign(Deno, { resolveDns: neverAnswers });
    const brief = { allowLoopback: false, signal: AbortSignal.timeout(50) };
    await assert.rejects(fetchJson("https://issuer.example.com/keys", brief), {
      name: "TimeoutError",
    });
    assert.equal(asked.length, 1);
  } finally {
    Object.assign(Deno, { resolveDns });
    globalThis.fetch = fetch;
  }
});
