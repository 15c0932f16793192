import assert from "node:assert/strict";
import {
  CLASS,
  errorCodeOf,
  METHOD,
  parseStun,
  type ReceivedStun,
} from "../../packages/agent-peer/paths/stun/message.ts";
import { Allocation } from "../../packages/agent-peer/paths/turn/allocation.ts";
import { openTurnUdp } from "../../packages/agent-peer/paths/turn/udp_transport.ts";
import { openNodeSocket } from "../../packages/agent-peer/wireguard/sockets/node_socket.ts";
import { systemSurroundings } from "../../packages/agent-peer/wireguard/system_surroundings.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { Coturn } from "./relay/coturn.ts";

/**
 * coturn's lifetimes in seconds. Each one expires during the test. coturn supports no shorter
 * allocations.
 */
const LIFETIMES = { nonce: 4, permission: 16, channel: 16 };
const ROUNDS = 40;
const STALE_NONCE = 438;

/** Shortens waits for renewals to a twentieth. Waits for answers stay unchanged. */
function hurried() {
  const system = systemSurroundings();
  return {
    ...system,
    after: (milliseconds: number, action: () => void) =>
      system.after(milliseconds > 20_000 ? milliseconds / 20 : milliseconds, action),
  };
}

Deno.test({
  name: "nonce, permissions and channels end sooner than the test → renewed, and nothing gets lost",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using coturn = await Coturn.start([
      `stale-nonce=${LIFETIMES.nonce}`,
      `permission-lifetime=${LIFETIMES.permission}`,
      `channel-lifetime=${LIFETIMES.channel}`,
    ]);
    const answers: ReceivedStun[] = [];
    const [here, there] = [new Set<string>(), new Set<string>()];
    let receive = (_message: Uint8Array): void => {};
    const transport = await openTurnUdp({
      server: { address: "127.0.0.1", port: coturn.port },
      openSocket: openNodeSocket,
      onMessage(message) {
        const answer = parseStun(message);
        if (answer !== null) answers.push(answer);
        receive(message);
      },
    });
    let ends = 0;
    const allocation = new Allocation({
      transport,
      surroundings: hurried(),
      ...coturn.credentials(),
      via: "relay",
      onDatagram: (datagram) => void here.add(new TextDecoder().decode(datagram)),
      onEnd: () => void (ends += 1),
    });
    receive = (message) => allocation.receive(message);
    const peer = await openNodeSocket({
      port: 0,
      via: "udp",
      onDatagram: (datagram) => void there.add(new TextDecoder().decode(datagram)),
    });
    const stranger = await openNodeSocket({ port: 0, via: "udp", onDatagram: () => {} });
    try {
      const relayed = await allocation.open();
      assert.equal(await allocation.permit("127.0.0.1"), true);
      for (let round = 1; round <= ROUNDS; round++) {
        const bytes = (text: string) => new TextEncoder().encode(`${text} ${round}`);
        allocation.send(bytes("to the peer"), { address: "127.0.0.1", port: peer.port });
        peer.send(bytes("from the peer"), relayed);
        stranger.send(bytes("from another port"), relayed);
        await eventually(`round ${round} arrives`, {
          condition: () => Promise.resolve(there.size === round && here.size === 2 * round),
        });
        await new Promise((resolve) => setTimeout(resolve, 800));
      }
    } finally {
      allocation.close();
      peer.close();
      stranger.close();
    }
    assert.equal(ends, 0);
    const successes = (method: number) =>
      answers.filter((answer) => answer.method === method && answer.kind === CLASS.success).length;
    assert.ok(answers.filter((answer) => errorCodeOf(answer) === STALE_NONCE).length >= 3);
    assert.ok(successes(METHOD.refresh) >= 3);
    assert.ok(successes(METHOD.createPermission) >= 3);
    assert.ok(successes(METHOD.channelBind) >= 3);
  },
});
