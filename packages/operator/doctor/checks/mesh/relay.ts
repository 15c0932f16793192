import type { Facts } from "../../facts/facts.ts";
import { isOwnRelay, type RelayFacts, serversIn } from "../../facts/relay.ts";
import { fieldOf, type Reply, wordsOf } from "../../facts/reply.ts";
import { unmadeByFunction } from "../unmade.ts";
import type { TurnTrial } from "../../facts/turn_trial.ts";
import { fault, type Finding, orOk, type Paste } from "../../findings/finding.ts";
import { ENTER_TURN_SECRET, setText, unsetVariables } from "../../findings/remedies.ts";

/** If a relay is set: whether each of its TURN servers gives an allocation. */
export function checkRelay(facts: Facts): Finding[] {
  const { relay } = facts;
  const { reply, trials } = relay;
  if (serversIn(reply) === null) {
    if (isRelayTrouble(relay)) return [faultOfService(relay)];
    return codeOf(reply) === "misconfigured"
      ? []
      : unmadeByFunction("relay", reply, { name: "agent-mesh", facts });
  }
  const failed = trials.filter(({ failure }) => failure !== null);
  const working = trials.filter(({ failure }) => failure === null).map(({ url }) => url);
  return orOk(
    [
      ...failed.map((trial) => faultOf(trial, { working, isOwn: isOwnRelay(relay) })),
      ...trials.filter(({ permits }) => permits.length > 0).map((trial) =>
        faultOfOpenness(trial, { isOwn: isOwnRelay(relay) })
      ),
    ],
    "relay",
    `The relay gives allocations: ${working.join(", ")}.`,
  );
}

function codeOf(reply: Reply): unknown {
  return Object(fieldOf(reply, "error")).code;
}

/**
 * Whether the fault is the relay's. Other checks report a function that does not answer at all, or
 * whose release has no relay.
 */
function isRelayTrouble({ reply }: RelayFacts): boolean {
  if (reply.status !== 503) return false;
  const { code, details, message } = Object(fieldOf(reply, "error"));
  if (code === "misconfigured") {
    return Object(details).relay !== "none" && /CREDENTIALS_TOKEN/.test(message);
  }
  return code === "upstream_unavailable" && /TURN service/.test(message);
}

function faultOfService({ reply }: RelayFacts): Finding {
  return fault(
    "relay",
    `/relay gives no credentials: ${wordsOf(reply)}`,
    "Check that MESH_TURN_CREDENTIALS_URL and MESH_TURN_CREDENTIALS_TOKEN are those of the service. To run without a relay, which affects nothing else:",
    unsetVariables("MESH_TURN_CREDENTIALS_URL", "MESH_TURN_CREDENTIALS_TOKEN"),
  );
}

function faultOf(
  { url, failure }: TurnTrial,
  { working, isOwn }: { readonly working: readonly string[]; readonly isOwn: boolean },
): Finding {
  const message = `${url} gives no allocation: ${failure}`;
  if (isOwn && /\banswers 40[13]\b/.test(failure!)) {
    return fault(
      "relay",
      message,
      "Set MESH_TURN_SECRET to the server's static-auth-secret.",
      ENTER_TURN_SECRET,
    );
  }
  return fault("relay", message, remedyFor(url), withoutServer({ working, isOwn }));
}

/** Through such a server, every agent reaches what only its machine or its network should. */
function faultOfOpenness(
  { url, permits }: TurnTrial,
  { isOwn }: { readonly isOwn: boolean },
): Finding {
  return fault(
    "relay",
    `${url} relays where it must not: ${
      permits.join(", ")
    }. An agent may reach services of the server itself, or its network.`,
    isOwn
      ? "Put no-tcp-relay and every denied-peer-ip of docs/relay.md into its turnserver.conf, remove allow-loopback-peers, and restart it."
      : "Tell the service, and use another one until it refuses that (docs/relay.md).",
  );
}

function remedyFor(url: string): string {
  const port = url.startsWith("turns:") ? "its certificate" : "its firewall";
  return `Check that the server runs, and check ${port}: docs/relay.md. To do without it:`;
}

/** Leaves agents only the servers that work. */
function withoutServer(
  { working, isOwn }: { readonly working: readonly string[]; readonly isOwn: boolean },
): Paste {
  if (!isOwn) return unsetVariables("MESH_TURN_CREDENTIALS_URL", "MESH_TURN_CREDENTIALS_TOKEN");
  if (working.length === 0) return unsetVariables("MESH_TURN_URLS", "MESH_TURN_SECRET");
  return setText("MESH_TURN_URLS", working.join(","));
}
