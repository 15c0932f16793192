import { findEnrolment } from "../enrolment/all_enrolments.ts";
import { callAsOperator } from "../operator_call.ts";
import { parsePolicy } from "../policy/policy_file.ts";
import { applyWhole, planPolicy } from "../policy/plan.ts";
import {
  named,
  nothing,
  OPERATOR,
  type Replay,
  replayed,
  requireOneThing,
  unlessRefused,
  UnusableLine,
} from "./ending.ts";
import { revokeEnrolment } from "./live.ts";

/** Also for a superseded agent key: the newer one is lost, so its agent enrols again. */
const revokeKey: Replay = async (event) => {
  const key_id = named(event, "key_id");
  const { revoked } = await callAsOperator("revoke_agent_key", { key_id }) as {
    readonly revoked: number;
  };
  return revoked > 0 ? replayed(`revoked ${key_id}`) : nothing(`${key_id} is not live`);
};

const revokeGrant: Replay = async (event) => {
  const grant_id = named(event, "grant_id");
  const ended = await unlessRefused<{ readonly revoked: number }>(
    callAsOperator("revoke_grants", {
      caller: OPERATOR,
      artifact_id: null,
      to_agent: null,
      grant_id,
    }),
    ["grant_not_found"],
  );
  return ended !== null && ended.revoked > 0
    ? replayed(`revoked ${grant_id}`)
    : nothing(`${grant_id} is not live`);
};

/** Its grants have lines of their own. */
const endStanding: Replay = async (event) => {
  const standing_id = named(event, "standing_id");
  const done = await unlessRefused<{ readonly ended: boolean }>(
    callAsOperator("end_standing_grant", { caller: OPERATOR, standing_id, end_grants: false }),
    ["grant_not_found"],
  );
  return done?.ended === true
    ? replayed(`ended ${standing_id}`)
    : nothing(`${standing_id} is not live`);
};

const deleteArtifact: Replay = async (event) => {
  const artifact_id = named(event, "artifact_id");
  const ended = await unlessRefused(
    callAsOperator("delete_artifact", { caller: OPERATOR, artifact_id }),
    ["artifact_not_found", "artifact_expired"],
  );
  return ended === null
    ? nothing(`${artifact_id} does not exist, or has ended`)
    : replayed(`deleted ${artifact_id}`);
};

const endEnrolment: Replay = async (event) => {
  const enrolment_id = named(event, "enrolment_id");
  const enrolment = await findEnrolment(enrolment_id);
  if (enrolment === null) return nothing(`${enrolment_id} does not exist`);
  // Also if it is revoked: some of its agents may be left.
  await revokeEnrolment(enrolment);
  return enrolment.revoked_at === null
    ? replayed(`revoked enrolment ${enrolment_id}`)
    : nothing(`${enrolment_id} is revoked`);
};

const replaceKeysOfTrust: Replay = async (event) => {
  const enrolment_id = named(event, "enrolment_id");
  const { jwks } = event;
  if (typeof jwks !== "object" || jwks === null) {
    throw new UnusableLine("enrolment.keys_replaced without jwks");
  }
  const replaced = await unlessRefused(
    callAsOperator("put_enrolment", { caller: OPERATOR, enrolment: { enrolment_id, jwks } }),
    ["invalid_request"],
  );
  return replaced === null
    ? nothing(`${enrolment_id} does not exist, or has ended`)
    : replayed(`replaced the public keys of ${enrolment_id}`);
};

/** A limit that was lowered stays low; enrolments that the backup lacks are lost with it. */
const limitEnrolment: Replay = async (event) => {
  const enrolment_id = named(event, "enrolment_id");
  const { max_agents, quota_bytes } = event;
  if (typeof max_agents !== "number" || quota_bytes !== null && typeof quota_bytes !== "number") {
    throw new UnusableLine("enrolment.limited without max_agents or quota_bytes");
  }
  if (await findEnrolment(enrolment_id) === null) return nothing(`${enrolment_id} does not exist`);
  const limits = { max_agents, quota_bytes };
  await callAsOperator("set_enrolment_limits", { caller: OPERATOR, enrolment_id, limits });
  return replayed(
    `limits of ${enrolment_id}: ${max_agents} agents, ${
      quota_bytes ?? "the default number of"
    } bytes`,
  );
};

/** The last policy of the record is put into force; its tests may name what is lost. */
const applyPolicy: Replay = async (event, later) => {
  if (!later.isLast(event)) return nothing("a later policy replaced this one");
  const { source } = event;
  if (typeof source !== "string") {
    throw new UnusableLine("policy.applied without source: apply the policy's file");
  }
  const policy = parsePolicy(source, "the recorded policy");
  const { plan } = await planPolicy(policy, 0);
  const { added, removed } = await applyWhole(policy, plan.fingerprint);
  return replayed(`applied the policy: ${added} rules added, ${removed} removed`);
};

const blockSender: Replay = async (event) => {
  requireOneThing(event);
  const [agent_id, from_agent] = [named(event, "agent_id"), named(event, "other_agent_id")];
  // Blocks of the record were within the limit once.
  const max_blocked = 1_000_000;
  await callAsOperator("block_sender", { caller: OPERATOR, agent_id, from_agent, max_blocked });
  return replayed(`${agent_id} blocks ${from_agent}`);
};

const unblockSender: Replay = async (event) => {
  requireOneThing(event);
  const [agent_id, from_agent] = [named(event, "agent_id"), named(event, "other_agent_id")];
  await callAsOperator("unblock_sender", { caller: OPERATOR, agent_id, from_agent });
  return replayed(`${agent_id} no longer blocks ${from_agent}`);
};

/** Endings of access, by the type of the event that records them. */
export const ACCESS_ENDINGS: Readonly<Record<string, Replay>> = {
  "key.revoked": revokeKey,
  "key.superseded": revokeKey,
  "grant.revoked": revokeGrant,
  "artifact.deleted": deleteArtifact,
  "standing.ended": endStanding,
  "enrolment.revoked": endEnrolment,
  "enrolment.keys_replaced": replaceKeysOfTrust,
  "enrolment.limited": limitEnrolment,
  "policy.applied": applyPolicy,
  "sender.blocked": blockSender,
  "sender.unblocked": unblockSender,
};
