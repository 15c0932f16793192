import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { createAgent } from "../conformance/client.ts";
import { join } from "../conformance/mesh_cast.ts";
import { documentedBlock } from "../docs/blocks/documentation.ts";
import { startOwnFunction } from "../own_function/own_function.ts";
import { askRelay } from "../own_function/relay/relays.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { ADDRESSES, deniedRanges, DocumentedServer } from "./relay/documented_server.ts";
import type { RelaySight, RelayTask } from "./relay/relay_program.ts";

const PROGRAM = fileURLToPath(new URL("./relay/relay_program.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../deno.json", import.meta.url));

/**
 * The answers of /relay to an agent at two different times, with the variables of docs/relay.md.
 */
async function askForCredentials(secret: string) {
  const block = await documentedBlock("docs/relay.md, Tell the functions, 1");
  const lines = block.replace("<secret>", secret).trim().split("\n");
  const environment = Object.fromEntries(lines.map((line) => {
    const at = line.indexOf("=");
    return [line.slice(0, at), line.slice(at + 1)];
  }));
  await using own = await startOwnFunction({ name: "agent-mesh", environment });
  const agent = await createAgent("relayed");
  await join(agent);
  const ask = async () => {
    const { status, body } = await askRelay(own, agent);
    assert.equal(status, 200, JSON.stringify(body));
    return body.ice_servers;
  };
  const servers = await ask();
  let [again] = servers;
  await eventually("other credentials", {
    condition: async () => {
      [again] = await ask();
      return again!.username !== servers[0]!.username;
    },
  });
  return { servers, again: again! };
}

/** Runs the relay program on the other host. */
async function use(
  { outside, authority }: DocumentedServer,
  task: RelayTask,
): Promise<RelaySight> {
  const output = await outside.run(
    [
      "env",
      `DENO_CERT=${authority}`,
      "DENO_NO_UPDATE_CHECK=1",
      Deno.execPath(),
      "run",
      "--allow-all",
      `--config=${CONFIG}`,
      PROGRAM,
    ],
    { input: JSON.stringify(task) },
  );
  return JSON.parse(output.trim().split("\n").at(-1)!);
}

const FORBIDDEN_IP = 403;
/** The user quota on the page. */
const USER_QUOTA = 16;

tunnelTest(
  "docs/relay.md: coturn by its lines, with credentials of /relay → by UDP, TCP and TLS, to public addresses alone",
  async () => {
    const secret = randomBytes(32).toString("hex");
    const given = await askForCredentials(secret);
    await using relay = await DocumentedServer.start({ secret, protection: "denied ranges" });
    const { ipv4, ipv6, inside } = ADDRESSES.outside;
    const ranges = deniedRanges().flat();
    assert.ok(ranges.includes("127.255.255.255") && ranges.includes("4000::"), ranges.join());
    const mapped = [
      "::",
      "::ffff:10.9.8.2",
      "::ffff:127.0.0.1",
      "64:ff9b::a09:802",
      "::1",
      "fd00::1",
    ];
    const denied = [...ranges, ...mapped, inside, "169.254.169.254", "127.0.0.1"];
    // Addresses next to the denied ranges.
    const allowed = [ipv4, ipv6, "9.255.255.255", "11.0.0.0", "2001:200::", "2003::"];
    const sight = await use(relay, {
      ...given,
      listensOn: [ipv4, inside],
      reaches: [ipv4],
      sendsTo: [],
      peers: [...denied, ...allowed],
    });

    assert.deepEqual(sight.trials.map(({ url, failure }) => [url, failure]), [
      ["turn:turn.example.com:3478", null],
      ["turn:turn.example.com:3478?transport=tcp", null],
      ["turns:turn.example.com:443?transport=tcp", null],
    ]);
    assert.deepEqual(sight.exchanged, {
      [ipv4]: { arrived: [`to ${ipv4}`], answered: true },
      [inside]: { arrived: [], answered: false },
    });
    assert.equal(sight.allocationsMeet, true);
    const expected = [
      ...denied.map((address) => [address, FORBIDDEN_IP]),
      ...allowed.map((address) => [address, 0]),
    ];
    assert.deepEqual(sight.permissions, Object.fromEntries(expected));
    assert.ok(
      sight.quota.given > 0 && sight.quota.given <= USER_QUOTA,
      JSON.stringify(sight.quota),
    );
    assert.match(sight.quota.refusal, /answers 486\b/);
    assert.ok(!(await relay.server.readLog("coturn")).includes(secret));
  },
);

tunnelTest(
  "docs/relay.md: the firewall without the denied ranges → nothing inside either, nor of the machine itself",
  async () => {
    const secret = randomBytes(32).toString("hex");
    const given = await askForCredentials(secret);
    await using relay = await DocumentedServer.start({ secret, protection: "firewall" });
    const { ipv4, inside } = ADDRESSES.outside;
    const own = { address: ADDRESSES.server.ipv4, port: 5353 };
    relay.server.start(["socat", "-u", `UDP-RECV:${own.port}`, "STDOUT"], { logName: "heard" });
    const heard = () => relay.server.readLog("heard");
    await eventually("the machine's own service hears its neighbour", {
      condition: async () => {
        const to = `UDP-SENDTO:${own.address}:${own.port}`;
        await relay.outside.run(["socat", "-u", "STDIN", to], { input: "direct" });
        return (await heard()).includes("direct");
      },
    });
    const sight = await use(relay, {
      ...given,
      listensOn: [ipv4, inside],
      reaches: [ipv4],
      sendsTo: [own],
      peers: [inside],
    });
    assert.deepEqual(sight.permissions, { [inside]: 0 });
    assert.deepEqual(sight.trials.map(({ failure }) => failure), [null, null, null]);
    assert.deepEqual(sight.exchanged, {
      [ipv4]: { arrived: [`to ${ipv4}`], answered: true },
      [inside]: { arrived: [], answered: false },
    });
    assert.equal(sight.allocationsMeet, true);
    assert.match(await heard(), /^(?:direct)+$/);
  },
);
