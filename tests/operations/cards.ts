/** Every operation's card, by function. The compiler names an operation without one. */
import type { ArtifactsCard, Card, FunctionName, MeshCard, Paths } from "./card.ts";

export const FUNCTIONS = ["agent-artifacts", "agent-mesh"] as const;

export const ARTIFACTS_CARDS = {
  "/register": (await import("./artifacts/register.ts")).register,
  "/commit": (await import("./artifacts/commit.ts")).commit,
  "/grant": (await import("./artifacts/grant.ts")).grant,
  "/revoke": (await import("./artifacts/revoke.ts")).revoke,
  "/fetch": (await import("./artifacts/fetch.ts")).fetchGrant,
  "/open": (await import("./artifacts/open.ts")).openArtifact,
  "/grants": (await import("./artifacts/grants.ts")).grants,
  "/recipients": (await import("./artifacts/recipients.ts")).recipients,
  "/standing/create": (await import("./artifacts/standing/create.ts")).standingCreate,
  "/standing/list": (await import("./artifacts/standing/list.ts")).standingList,
  "/standing/end": (await import("./artifacts/standing/end.ts")).standingEnd,
  "/inbox": (await import("./artifacts/inbox/inbox.ts")).inbox,
  "/inbox/block": (await import("./artifacts/inbox/block.ts")).inboxBlock,
  "/inbox/unblock": (await import("./artifacts/inbox/unblock.ts")).inboxUnblock,
  "/inbox/take": (await import("./artifacts/inbox/take.ts")).inboxTake,
  "/inbox/extend": (await import("./artifacts/inbox/extend.ts")).inboxExtend,
  "/inbox/done": (await import("./artifacts/inbox/done.ts")).inboxDone,
  "/inbox/fail": (await import("./artifacts/inbox/fail.ts")).inboxFail,
  "/inbox/requeue": (await import("./artifacts/inbox/requeue.ts")).inboxRequeue,
  "/list": (await import("./artifacts/list.ts")).list,
  "/versions": (await import("./artifacts/versions.ts")).versions,
  "/delete": (await import("./artifacts/delete.ts")).deleteArtifact,
  "/events": (await import("./shared/events.ts")).events,
  "/wait": (await import("./shared/wait.ts")).wait,
  "/enroll": (await import("./shared/enroll.ts")).enroll,
  "/leave": (await import("./shared/leave.ts")).leave,
  "/enrolment/put": (await import("./shared/enrolment/put.ts")).enrolmentPut,
  "/enrolment/list": (await import("./shared/enrolment/list.ts")).enrolmentList,
  "/enrolment/revoke": (await import("./shared/enrolment/revoke.ts")).enrolmentRevoke,
  "/enrolment/test": (await import("./shared/enrolment/test_proof.ts")).enrolmentTest,
  "/sweep": (await import("./artifacts/sweep.ts")).sweep,
  "/webhooks/put": (await import("./artifacts/webhooks/put.ts")).webhooksPut,
  "/webhooks/deliver": (await import("./artifacts/webhooks/deliver.ts")).webhooksDeliver,
} satisfies Record<Paths["agent-artifacts"], ArtifactsCard>;

export const MESH_CARDS = {
  "/peer/register": (await import("./mesh/peer/register.ts")).peerRegister,
  "/peer/heartbeat": (await import("./mesh/peer/heartbeat.ts")).peerHeartbeat,
  "/peer/remove": (await import("./mesh/peer/remove.ts")).peerRemove,
  "/netmap": (await import("./mesh/netmap.ts")).netmap,
  "/acl/put": (await import("./mesh/acl/put.ts")).aclPut,
  "/acl/revoke": (await import("./mesh/acl/revoke.ts")).aclRevoke,
  "/wg_config": (await import("./mesh/wg_config.ts")).wgConfig,
  "/psk/rotate": (await import("./mesh/psk/rotate.ts")).pskRotate,
  "/relay": (await import("./mesh/relay.ts")).relay,
  "/events": (await import("./shared/events.ts")).events,
  "/wait": (await import("./shared/wait.ts")).wait,
  "/enroll": (await import("./shared/enroll.ts")).enroll,
  "/leave": (await import("./shared/leave.ts")).leave,
  "/enrolment/put": (await import("./shared/enrolment/put.ts")).enrolmentPut,
  "/enrolment/list": (await import("./shared/enrolment/list.ts")).enrolmentList,
  "/enrolment/revoke": (await import("./shared/enrolment/revoke.ts")).enrolmentRevoke,
  "/enrolment/test": (await import("./shared/enrolment/test_proof.ts")).enrolmentTest,
  "/psk/keys": (await import("./mesh/psk/keys.ts")).pskKeys,
} satisfies Record<Paths["agent-mesh"], MeshCard>;

/** What is the same for the cards of both functions: everything but the cast of `valid`. */
type AnyCard = Omit<Card, "valid">;

/** The cards of a function, with their paths. */
export function cardsOf(name: FunctionName): [path: string, card: AnyCard][] {
  return Object.entries(name === "agent-artifacts" ? ARTIFACTS_CARDS : MESH_CARDS);
}

/** The cards of both functions, each once: they share some. */
export const ALL_CARDS: ReadonlySet<AnyCard> = new Set(
  FUNCTIONS.flatMap((name) => cardsOf(name)).map(([, card]) => card),
);
