import assert from "node:assert/strict";
import { fetchJson } from "../../../supabase/functions/_shared/identity/issuers/pinned_request.ts";
import {
  isPublic,
  urlComplaint,
} from "../../../supabase/functions/_shared/identity/issuers/public_address.ts";

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

Deno.test("a name whose addresses are of the internet → asked at the first that accepts; with one inside among them, or none at all → not asked", async () => {
  await withNames(async ({ lead, ask, connected }) => {
    lead(["8.8.8.8", "1.1.1.1", "2606:4700::1111"]);
    assert.deepEqual(await ask(), { keys: [] });
    assert.deepEqual(connected, ["8.8.8.8:443"]);
    lead(["8.8.8.8", "169.254.169.254"]);
    await assert.rejects(ask(), /inside/);
    lead(["8.8.8.8", "::1"]);
    await assert.rejects(ask(), /inside/);
    lead([]);
    await assert.rejects(ask(), /no address/);
    assert.equal(connected.length, 1);
  });
});

Deno.test("a name that leads inside a moment after it was checked → looked up once, and asked where it was checked", async () => {
  await withNames(async ({ lead, ask, connected, lookedUp }) => {
    lead(["8.8.8.8"], ["127.0.0.1"]);
    assert.deepEqual(await ask(), { keys: [] });
    assert.deepEqual(connected, ["8.8.8.8:443"]);
    assert.deepEqual(lookedUp, ["issuer.example.com"]);
    // The next time, it leads inside already.
    await assert.rejects(ask(), /inside/);
    assert.equal(connected.length, 1);
  });
});

Deno.test("a name server that never answers → given up when the time is over", async () => {
  await withNames(async ({ ask, connected }) => {
    Object.assign(Deno, {
      resolveDns: (_: string, __: string, { signal }: { signal: AbortSignal }) =>
        new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
    });
    await assert.rejects(ask(50), { name: "TimeoutError" });
    assert.deepEqual(connected, []);
  });
});

interface Names {
  /** The addresses that the name has, by look-up: the last list answers all later ones. */
  lead(...turns: string[][]): void;
  ask(milliseconds?: number): Promise<unknown>;
  /** Where a connection was made to. */
  readonly connected: string[];
  /** Names whose IPv4 addresses were asked for. */
  readonly lookedUp: string[];
}

/** An issuer by https, whose name leads wherever a test says. Every address is the same server. */
async function withNames(run: (names: Names) => Promise<void>): Promise<void> {
  const { resolveDns, connect, startTls } = Deno;
  const { fetch } = globalThis;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => Response.json({ keys: [] }),
  );
  const connected: string[] = [];
  const lookedUp: string[] = [];
  let turns: string[][] = [];
  Object.assign(Deno, {
    resolveDns(name: string, type: string) {
      const [addresses = []] = turns;
      if (type === "A") lookedUp.push(name);
      else if (turns.length > 1) turns.shift();
      const isWanted = (address: string) => address.includes(":") === (type === "AAAA");
      return Promise.resolve(addresses.filter(isWanted));
    },
    connect({ hostname, port }: Deno.ConnectOptions) {
      connected.push(`${hostname}:${port}`);
      return connect({ hostname: "127.0.0.1", port: server.addr.port });
    },
    startTls: (connection: Deno.TcpConn) => Promise.resolve(connection),
  });
  globalThis.fetch = () => Promise.reject(new Error("fetch looks the name up once more."));
  try {
    await run({
      lead: (...lists) => void (turns = lists),
      ask(milliseconds = 5_000) {
        const options = { allowLoopback: false, signal: AbortSignal.timeout(milliseconds) };
        return fetchJson("https://issuer.example.com/keys", options);
      },
      connected,
      lookedUp,
    });
  } finally {
    Object.assign(Deno, { resolveDns, connect, startTls });
    globalThis.fetch = fetch;
    await server.shutdown();
  }
}
