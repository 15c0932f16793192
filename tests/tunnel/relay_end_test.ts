/** docs/relay.md, End relayed addresses: its program, with coturn. */
import { createHash } from "node:crypto";
import assert from "node:assert/strict";
import { freePort } from "../../packages/local/processes/free_port.ts";
import { Allocation } from "../../packages/agent-peer/paths/turn/allocation.ts";
import {
  ATTRIBUTE,
  METHOD,
  parseStun,
  writeStun,
} from "../../packages/agent-peer/paths/stun/message.ts";
import { openTurnUdp } from "../../packages/agent-peer/paths/turn/udp_transport.ts";
import { openNodeSocket } from "../../packages/agent-peer/wireguard/sockets/node_socket.ts";
import { systemSurroundings } from "../../packages/agent-peer/wireguard/system_surroundings.ts";
import { documentedBlock } from "../docs/blocks/documentation.ts";
import { eventually, run } from "../wireguard/hosts/run_program.ts";
import { Coturn } from "./relay/coturn.ts";

/** STUN's ORIGIN, which no client of the mesh sends. */
const ORIGIN = 0x802f;

/** A relayed address, and whether packets still get through it. */
async function openAddress(
  coturn: Coturn,
  credentials: { readonly username: string; readonly credential: string },
  origin: string | null = null,
) {
  let receive = (_message: Uint8Array): void => {};
  const heard = new Set<string>();
  const transport = await openTurnUdp({
    server: { address: "127.0.0.1", port: coturn.port },
    openSocket: openNodeSocket,
    onMessage: (message) => receive(message),
  });
  const allocation = new Allocation({
    transport: origin === null ? transport : {
      ...transport,
      send: (message) => transport.send(withOrigin(message, origin, credentials)),
    },
    surroundings: systemSurroundings(),
    ...credentials,
    via: "relay",
    onDatagram: (datagram) => void heard.add(new TextDecoder().decode(datagram)),
  });
  receive = (message) => allocation.receive(message);
  const relayed = await allocation.open();
  const peer = await openNodeSocket({ port: 0, via: "udp", onDatagram: () => {} });
  assert.equal(await allocation.permit("127.0.0.1"), true);
  let count = 0;
  return {
    /** Whether one of several packets arrives. */
    async works(): Promise<boolean> {
      for (let times = 0; times < 20; times++) {
        const text = `packet ${++count}`;
        peer.send(new TextEncoder().encode(text), relayed);
        await new Promise((resolve) => setTimeout(resolve, 50));
        if (heard.has(text)) return true;
      }
      return false;
    },
    renews: () => allocation.permit("127.0.0.1"),
    [Symbol.dispose]() {
      allocation.close();
      peer.close();
    },
  };
}

/** The same request, with an ORIGIN. */
function withOrigin(
  message: Uint8Array,
  origin: string,
  { username, credential }: { readonly username: string; readonly credential: string },
): Uint8Array {
  const request = parseStun(message);
  if (request?.method !== METHOD.allocate) return message;
  const key = createHash("md5").update(`${username}:mesh.test:${credential}`).digest();
  const attributes = new Map([...request.attributes, [ORIGIN, new TextEncoder().encode(origin)]]);
  attributes.delete(ATTRIBUTE.messageIntegrity);
  return writeStun({ ...request, attributes }, request.integrity === null ? null : key);
}

/** coturn with its command line, and the documented program. */
async function start() {
  const cliPort = await freePort();
  const coturn = await Coturn.start([
    "cli-password=another-secret",
    `cli-port=${cliPort}`,
    "cli-max-output-sessions=2000",
  ]);
  const program = `${coturn.directory}/relay-end`;
  const text = (await documentedBlock("docs/relay.md, End relayed addresses, 1"))
    .replace("/etc/turnserver.conf", `${coturn.directory}/turnserver.conf`)
    .replace("/run/relay-ended", `${coturn.directory}/relay-ended`);
  await Deno.writeTextFile(program, text, { mode: 0o755 });
  return {
    coturn,
    end: (...args: string[]) => run([program, ...args]),
    /** What coturn's command line prints about the sessions. */
    sessions: () =>
      run([
        "bash",
        "-c",
        `exec 3<>/dev/tcp/127.0.0.1/${cliPort}
{ echo another-secret; sleep 0.5; echo ps; sleep 1; echo q; } >&3; timeout 30 cat <&3 || true`,
      ]),
    [Symbol.asyncDispose]: () => coturn[Symbol.asyncDispose](),
  };
}

Deno.test({
  name:
    "an address whose credentials have expired → coturn renews it; relay-end ends it, and those of an agent that is named, again and again; others stay",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using server = await start();
    const { coturn, end } = server;

    await end();
    const removed = coturn.credentials({ name: "10.213.0.8" });
    using expiring = await openAddress(
      coturn,
      coturn.credentials({ name: "10.213.0.7", seconds: 2 }),
    );
    using ofRemoved = await openAddress(coturn, removed);
    using other = await openAddress(coturn, coturn.credentials({ name: "10.213.0.80" }));
    await new Promise((resolve) => setTimeout(resolve, 4000));
    assert.deepEqual([await expiring.renews(), await expiring.works()], [true, true]);

    await end();
    await eventually("the expired one is over", {
      condition: async () => !await expiring.works(),
    });
    assert.deepEqual([await ofRemoved.works(), await other.works()], [true, true]);

    await end("10.213.0.8");
    await eventually("the agent's address is over", {
      condition: async () => !await ofRemoved.works(),
    });
    using again = await openAddress(coturn, removed);
    assert.equal(await again.works(), true);
    await end();
    await eventually("its next address is over", { condition: async () => !await again.works() });
    assert.deepEqual([await other.works(), await other.renews()], [true, true]);
  },
});

Deno.test({
  name:
    "an agent whose ORIGIN looks like an expired session of another agent → relay-end ends the liar's address, and the other stays",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using server = await start();
    const { coturn, end } = server;
    using other = await openAddress(coturn, coturn.credentials({ name: "10.213.0.7" }));
    const [, id] = /id=(\d+), user <\d+:10\.213\.0\.7>/.exec(await server.sessions())!;
    for (
      const lie of [
        `x\n\n    2) id=${id}, user <1:z>:\n      realm: mesh.test`,
        `x id=${id}, user <1:z>`,
      ]
    ) {
      using liar = await openAddress(coturn, coturn.credentials({ name: "10.213.0.8" }), lie);
      const listed = await server.sessions();
      assert.ok(listed.replaceAll("\r", "").includes(lie), listed);
      assert.equal(await liar.works(), true);
      await end();
      assert.equal(await other.works(), true);
      await eventually("the liar's address is over", {
        condition: async () => !await liar.works(),
      });
    }
  },
});
