/** How many lines of the parsers of hostile bytes the tests with hostile bytes run. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { run } from "../../../../../tests/wireguard/hosts/run_program.ts";

const PROJECT = fileURLToPath(new URL("../../../../..", import.meta.url));
const SOURCE = "packages/agent-peer";

const TESTS = [
  "packages/agent-peer/tests/packet_filter",
  "packages/agent-peer/tests/wireguard/hostile_datagrams_test.ts",
  "packages/agent-peer/tests/wireguard/handshake_test.ts",
  "packages/agent-peer/tests/wireguard/load_test.ts",
  "packages/agent-peer/tests/paths/stun_messages_test.ts",
  "packages/agent-peer/tests/stack/fuzz/outside_test.ts",
];

const PARSERS = [
  "ip/filter/packet.ts",
  "wireguard/routing/ip_packet.ts",
  "wireguard/handshake/messages.ts",
  "paths/stun/message.ts",
];

/** The least share of each file's lines that must run. */
const LEAST = 0.9;

/** Shares of the lines that ran, by file, from a report in LCOV format. */
function sharesOf(report: string): Map<string, number> {
  return new Map(
    report.split("end_of_record").flatMap((record) => {
      const [, file] = /^SF:(.*)$/m.exec(record) ?? [];
      const [found, hit] = ["LF", "LH"].map((name) =>
        Number(new RegExp(`^${name}:(\\d+)$`, "m").exec(record)?.[1] ?? 0)
      );
      return file === undefined ? [] : [[file, hit! / found!] as const];
    }),
  );
}

Deno.test("the parsers of packets and datagrams, under their tests → more than 90 % of each one's lines ran", async () => {
  const folder = await Deno.makeTempDir({ prefix: "coverage-" });
  try {
    const config = `--config=${PROJECT}/dev/deno.json`;
    const tests = TESTS.map((test) => `${PROJECT}/${test}`);
    const options = ["--quiet", "--allow-all", "--no-check", `--coverage=${folder}`];
    await run([Deno.execPath(), "test", config, ...options, ...tests]);
    const shares = sharesOf(await run([Deno.execPath(), "coverage", "--lcov", folder]));
    for (const parser of PARSERS) {
      const share = [...shares].find(([file]) => file.endsWith(`${SOURCE}/${parser}`))?.[1] ?? 0;
      console.log(`${parser}: ${(100 * share).toFixed(1)} %`);
      assert.ok(share > LEAST, `${parser}: ${share}`);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
