import { assertBroken, config, join, map, mesh } from "./written_history.ts";

const RULE = { from_agent: "ann", to_agent: "bob", port: 443, proto: "tcp" };
const SHOWN = { others: ["bob"], acls: [RULE] };

const consent = (start: number, agent: string) =>
  mesh([start, start + 1], [agent, "/acl/put"], { request: RULE });
const AGREED = [consent(0, "ann"), consent(0, "bob")];

Deno.test("a config_version that goes back → found, unless the two ran side by side", () => {
  const beat = (at: [number, number], config_version: number) =>
    mesh(at, ["ann", "/peer/heartbeat"], { answer: { config_version } });
  assertBroken([beat([0, 1], 7), beat([2, 3], 6)], "a config_version went back");
  assertBroken([beat([0, 9], 7), beat([2, 3], 6), beat([4, 5], 6), beat([10, 11], 7)]);
  assertBroken([beat([0, 1], 7), { ...beat([2, 3], 6), agent: "bob" }]);
});

Deno.test("two texts of one config_version → found", () => {
  const first = config([0, 1], "ann", { version: 7, other: "bob", psk: "P" });
  const second = config([2, 3], "ann", { version: 7, other: "bob", psk: "Q" });
  assertBroken([first, second], "one config_version has two texts");
});

Deno.test("an address of two agents, at any time → found", () => {
  assertBroken(
    [join([0, 1], "ann", "k1", "10.0.0.1"), join([2, 3], "bob", "k2", "10.0.0.1")],
    "an address is two agents'",
  );
});

Deno.test("a public key of two agents → found, unless the first may have given it up", () => {
  const first = join([0, 1], "ann", "k1");
  const second = join([6, 7], "bob", "k1");
  assertBroken([first, second], "a public key is two agents'");
  assertBroken([first, join([2, 3], "ann", "k2"), second]);
  for (const status of [200, 0, 503]) {
    assertBroken([first, mesh([2, 3], ["ann", "/peer/remove"], { status }), second]);
  }
  assertBroken(
    [first, mesh([8, 9], ["ann", "/peer/remove"]), second],
    "a public key is two agents'",
  );
});

Deno.test("another PSK between two readings of one, by either side → found", () => {
  const read = (start: number, agent: string, psk: string) =>
    config([start, start + 1], agent, {
      version: start,
      other: agent === "ann" ? "bob" : "ann",
      psk,
    });
  const rule = "a pair has two PSKs at once";
  assertBroken([read(0, "ann", "P"), read(2, "bob", "Q"), read(4, "ann", "P")], rule);
  assertBroken([
    read(0, "ann", "P"),
    read(2, "bob", "P"),
    read(4, "ann", "Q"),
    read(6, "bob", "Q"),
  ]);
});

Deno.test("a PSK of two pairs → found", () => {
  assertBroken(
    [
      config([0, 1], "ann", { other: "bob", psk: "P" }),
      config([2, 3], "ann", { version: 2, other: "eve", psk: "P" }),
    ],
    "a PSK is two pairs'",
  );
});

for (
  const [what, end] of [
    ["revoked", mesh([4, 5], ["bob", "/acl/revoke"], { request: RULE })],
    ["removed with a peer", mesh([4, 5], ["bob", "/peer/remove"])],
  ] as const
) {
  Deno.test(`a map with a rule that was ${what} → found, unless both agreed again`, () => {
    const rule = `a map shows a rule without consent: ${JSON.stringify(RULE)}`;
    assertBroken([...AGREED, end, map([6, 7], "ann", SHOWN)], rule);
    assertBroken([...AGREED, end, consent(6, "ann"), map([8, 9], "ann", SHOWN)], rule);
    assertBroken([...AGREED, end, consent(6, "ann"), consent(6, "bob"), map([8, 9], "ann", SHOWN)]);
    for (const status of [0, 503, 404]) {
      assertBroken([...AGREED, { ...end, status }, map([6, 7], "ann", SHOWN)]);
    }
  });
}

Deno.test("a map with a rule that one side alone wants → found", () => {
  assertBroken(
    [consent(0, "ann"), map([2, 3], "ann", SHOWN)],
    `a map shows a rule without consent: ${JSON.stringify(RULE)}`,
  );
});

Deno.test("a map with a peer and no rule → found", () => {
  assertBroken([map([0, 1], "ann", { others: ["bob"] })], "a map shows a peer without a rule");
});
