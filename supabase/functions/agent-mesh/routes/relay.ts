import * as z from "zod";
import { ServiceError } from "../../_shared/request/errors.ts";
import { agentId, sentTimestamp } from "../../_shared/request/fields.ts";
import {
  defineOperation,
  type Operation,
  type Platform,
} from "../../_shared/operations/operation.ts";
import { AskingLimit } from "../relay/asking_limit.ts";
import { giveCredentials } from "../relay/credentials.ts";
import { readRelay } from "../relay/relay.ts";
import { TURN_URL_PATTERN } from "../relay/turn_url.ts";
import type { MeshSettings } from "../settings.ts";

const iceServer = z.object({
  urls: z.array(z.string().regex(new RegExp(TURN_URL_PATTERN))).min(1).meta({
    description: "The URIs of a TURN server (RFC 7065).",
    examples: [[
      "turn:turn.example.com:3478",
      "turns:turn.example.com:443?transport=tcp",
    ]],
  }),
  username: z.string().regex(/^.{1,508}$/).meta({
    description: "The username for the server.",
    examples: ["1769855400:10.213.0.1"],
  }),
  credential: z.string().regex(/^.{1,1000}$/).meta({
    description: "The password that belongs to the username.",
    examples: ["kXHmIq4nN0iMEYcB2CkfnLZpT3k="],
  }),
}).meta({ id: "IceServer" });

const response = z.object({
  ice_servers: z.array(iceServer).min(1)
    .meta({ description: "TURN servers with credentials, as WebRTC's RTCIceServer." }),
  expires_at: sentTimestamp
    .meta({ description: "When the credentials end: after an hour at most." }),
});

export function createOperation({ callDatabase, settings }: Platform<MeshSettings>): Operation {
  const limit = new AskingLimit();
  return defineOperation({
    summary: "Get credentials of a TURN relay, for hosts that have no direct path.",
    description: "A relayed address is an endpoint like any other: register it, and neighbours " +
      "send to it. The relay sees encrypted packets only.",
    tag: "Configuration",
    callers: "the agent itself",
    effect: "reads",
    identification: "required",
    // A conversation has no use for credentials of a relay.
    isForPrograms: true,
    request: z.strictObject({
      agent_id: agentId.optional().meta({
        description: "An agent may only name itself. The operator may name an agent, or try the " +
          "relay without.",
      }),
    }),
    response,
    errors: ["peer_not_found", "limit_exceeded"],
    async handle({ input, caller }) {
      const { relay_name } = await callDatabase<{ readonly relay_name: string }>(
        "read_relay_name",
        { caller, agent_id: input.agent_id ?? null },
      );
      const relay = readRelay(settings);
      if (relay === null) {
        throw new ServiceError("misconfigured", {
          message:
            "This deployment has no relay. MESH_TURN_URLS and MESH_TURN_SECRET set one: see docs/relay.md.",
          details: { relay: "none" },
        });
      }
      if (caller.kind !== "operator") limit.count(relay_name);
      return await giveCredentials(relay, relay_name);
    },
  });
}
