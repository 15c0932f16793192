import { callAsOperator } from "../operator_call.ts";
import {
  type LaterEvents,
  named,
  nothing,
  OPERATOR,
  type Outcome,
  type Replay,
  replayed,
  requireOneThing,
  unlessRefused,
  UnusableLine,
} from "./ending.ts";
import type { RecordedEvent } from "./record.ts";

const removePeer: Replay = async (event) => {
  const agent_id = named(event, "agent_id");
  const { removed } = await callAsOperator("remove_peer", { caller: OPERATOR, agent_id }) as {
    readonly removed: boolean;
  };
  return removed ? replayed(`removed the peer of ${agent_id}`) : nothing(`${agent_id} has no peer`);
};

/** A host that made a new key pair no longer owns the public key that the backup has. */
async function replacePubkey(event: RecordedEvent, later: LaterEvents): Promise<Outcome> {
  const agent_id = named(event, "agent_id");
  const pubkey = named(event, "pubkey");
  if (!later.isLast(event)) return nothing("the peer changed again later");
  const { endpoint = null } = event;
  const { replaced } = await callAsOperator("replace_pubkey", { agent_id, pubkey, endpoint }) as {
    readonly replaced: boolean;
  };
  if (!replaced) return nothing(`${agent_id} has this public key, or no peer`);
  return replayed(`replaced the public key of ${agent_id}`);
}

const revokeRule: Replay = async (event, later) => {
  requireOneThing(event);
  const [from_agent, to_agent, proto] = ["from_agent", "to_agent", "proto"]
    .map((field) => named(event, field)) as [string, string, string];
  const { port, origin } = event;
  if (typeof port !== "number") throw new UnusableLine("rule.revoked without port");
  if (origin === "policy") return nothing("the policy decides");
  if (later.isActivatedAgain(event)) return nothing("the rule was agreed to again later");
  const ended = await unlessRefused<{ readonly revoked: boolean }>(
    callAsOperator("revoke_rule", { caller: OPERATOR, from_agent, to_agent, port, proto }),
    ["policy_rule"],
  );
  const rule = `${from_agent} → ${to_agent} ${proto} ${port}`;
  if (ended === null) return nothing(`the policy has the rule ${rule}`);
  return ended.revoked ? replayed(`revoked the rule ${rule}`) : nothing(`no rule ${rule}`);
};

const rotatePsk: Replay = async (event, later) => {
  requireOneThing(event);
  const [a, b] = [named(event, "a"), named(event, "b")];
  if (!later.isLast(event)) return nothing("the PSK was rotated again later");
  const rotated = await unlessRefused(
    callAsOperator("rotate_psk", { caller: OPERATOR, a, b }),
    ["peer_not_found"],
  );
  return rotated === null
    ? nothing(`${a} and ${b} do not see each other`)
    : replayed(`rotated the PSK of ${a} and ${b}`);
};

/** Endings in the mesh, by the type of the event that records them. */
export const MESH_ENDINGS: Readonly<Record<string, Replay>> = {
  "peer.removed": removePeer,
  "peer.registered": replacePubkey,
  "peer.updated": replacePubkey,
  "rule.revoked": revokeRule,
  "psk.rotated": rotatePsk,
};
