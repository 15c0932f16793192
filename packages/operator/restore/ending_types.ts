/**
 * The types of events that a record needs. After a restore, `agentops restore after --record`
 * makes again what they say. Separate from the replays, so that `events --endings` does not load
 * these.
 */
export const ENDING_TYPES: readonly string[] = [
  // Access that ended.
  "agent.removed",
  "agent.taken_over",
  "agent.left",
  "name.erased",
  "key.revoked",
  "key.superseded",
  "enrolment.revoked",
  "enrolment.keys_replaced",
  "grant.revoked",
  "artifact.deleted",
  "standing.ended",
  "webhook.ended",
  "webhook.rotated",
  "rule.revoked",
  "peer.removed",
  "psk.rotated",
  // Decisions of the operator and of recipients, which the backup has in an older form.
  "agent.limited",
  "enrolment.limited",
  "agent.tagged",
  "agent.shared",
  "policy.applied",
  "sender.blocked",
  "sender.unblocked",
  // A host that has replaced its key pair.
  "peer.registered",
  "peer.updated",
  // These say that an earlier ending no longer holds.
  "agent.readmitted",
  "rule.activated",
  // An erasure's other steps, for the pseudonym.
  "agent.erased",
];
