/** Every operation's card, by function. The compiler names an operation without one. */
import { commit } from "./artifacts/commit.ts";
import { deleteArtifact } from "./artifacts/delete.ts";
import { fetchGrant } from "./artifacts/fetch.ts";
import { grant } from "./artifacts/grant.ts";
import { grants } from "./artifacts/grants.ts";
import { inbox } from "./artifacts/inbox/inbox.ts";
import { inboxBlock } from "./artifacts/inbox/block.ts";
import { inboxDone } from "./artifacts/inbox/done.ts";
import { inboxExtend } from "./artifacts/inbox/extend.ts";
import { inboxFail } from "./artifacts/inbox/fail.ts";
import { inboxRequeue } from "./artifacts/inbox/requeue.ts";
import { inboxTake } from "./artifacts/inbox/take.ts";
import { inboxUnblock } from "./artifacts/inbox/unblock.ts";
import { list } from "./artifacts/list.ts";
import { openArtifact } from "./artifacts/open.ts";
import { recipients } from "./artifacts/recipients.ts";
import { register } from "./artifacts/register.ts";
import { revoke } from "./artifacts/revoke.ts";
import { versions } from "./artifacts/versions.ts";
import { standingCreate } from "./artifacts/standing/create.ts";
import { standingEnd } from "./artifacts/standing/end.ts";
import { standingList } from "./artifacts/standing/list.ts";
import { sweep } from "./artifacts/sweep.ts";
import { webhooksDeliver } from "./artifacts/webhooks/deliver.ts";
import { webhooksPut } from "./artifacts/webhooks/put.ts";
import type { ArtifactsCard, Card, FunctionName, MeshCard, Paths } from "./card.ts";
import { aclPut } from "./mesh/acl/put.ts";
import { aclRevoke } from "./mesh/acl/revoke.ts";
import { netmap } from "./mesh/netmap.ts";
import { peerHeartbeat } from "./mesh/peer/heartbeat.ts";
import { peerRegister } from "./mesh/peer/register.ts";
import { peerRemove } from "./mesh/peer/remove.ts";
import { pskKeys } from "./mesh/psk/keys.ts";
import { pskRotate } from "./mesh/psk/rotate.ts";
import { relay } from "./mesh/relay.ts";
import { wgConfig } from "./mesh/wg_config.ts";
import { enroll } from "./shared/enroll.ts";
import { enrolmentList } from "./shared/enrolment/list.ts";
import { enrolmentPut } from "./shared/enrolment/put.ts";
import { enrolmentRevoke } from "./shared/enrolment/revoke.ts";
import { enrolmentTest } from "./shared/enrolment/test_proof.ts";
import { events } from "./shared/events.ts";
import { leave } from "./shared/leave.ts";
import { wait } from "./shared/wait.ts";

export const FUNCTIONS = ["agent-artifacts", "agent-mesh"] as const;

export const ARTIFACTS_CARDS = {
  "/register": register,
  "/commit": commit,
  "/grant": grant,
  "/revoke": revoke,
  "/fetch": fetchGrant,
  "/open": openArtifact,
  "/grants": grants,
  "/recipients": recipients,
  "/standing/create": standingCreate,
  "/standing/list": standingList,
  "/standing/end": standingEnd,
  "/inbox": inbox,
  "/inbox/block": inboxBlock,
  "/inbox/unblock": inboxUnblock,
  "/inbox/take": inboxTake,
  "/inbox/extend": inboxExtend,
  "/inbox/done": inboxDone,
  "/inbox/fail": inboxFail,
  "/inbox/requeue": inboxRequeue,
  "/list": list,
  "/versions": versions,
  "/delete": deleteArtifact,
  "/events": events,
  "/wait": wait,
  "/enroll": enroll,
  "/leave": leave,
  "/enrolment/put": enrolmentPut,
  "/enrolment/list": enrolmentList,
  "/enrolment/revoke": enrolmentRevoke,
  "/enrolment/test": enrolmentTest,
  "/sweep": sweep,
  "/webhooks/put": webhooksPut,
  "/webhooks/deliver": webhooksDeliver,
} satisfies Record<Paths["agent-artifacts"], ArtifactsCard>;

export const MESH_CARDS = {
  "/peer/register": peerRegister,
  "/peer/heartbeat": peerHeartbeat,
  "/peer/remove": peerRemove,
  "/netmap": netmap,
  "/acl/put": aclPut,
  "/acl/revoke": aclRevoke,
  "/wg_config": wgConfig,
  "/psk/rotate": pskRotate,
  "/relay": relay,
  "/events": events,
  "/wait": wait,
  "/enroll": enroll,
  "/leave": leave,
  "/enrolment/put": enrolmentPut,
  "/enrolment/list": enrolmentList,
  "/enrolment/revoke": enrolmentRevoke,
  "/enrolment/test": enrolmentTest,
  "/psk/keys": pskKeys,
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
