import { succeed } from "../conformance/client.ts";
import { type Member, peerField } from "../wireguard/hosts/mesh_of_hosts.ts";

/** WireGuard starts a new session after 120 s and drops the old one after 180 s. */
export const SESSION_LIFE_SECONDS = 180;

export function rotate(one: Member, other: Member): Promise<unknown> {
  const pair = { a: one.agent.id, b: other.agent.id };
  return succeed("/agent-mesh/psk/rotate", { as: one.agent, body: pair });
}

export function pskOf(member: Member, peer: Member): Promise<string | undefined> {
  return peerField(member, { peer, field: "preshared-keys" });
}

/** The time of the latest handshake in seconds since the epoch; 0 before the first one. */
export async function handshakeOf(member: Member, peer: Member): Promise<number> {
  return Number(await peerField(member, { peer, field: "latest-handshakes" }));
}
