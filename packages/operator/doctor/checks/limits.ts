import { setVariable } from "../findings/remedies.ts";
import { type Facts, settingsOf } from "../facts/facts.ts";
import { fault, type Finding, note, orOk } from "../findings/finding.ts";

/** Whether settings of the functions contradict each other. */
export function checkLimits(facts: Facts): Finding[] {
  const settings = settingsOf(facts);
  if (Object.keys(settings).length === 0) return [];
  const findings = CONTRADICTIONS.flatMap((find) => find(settings) ?? []);
  return orOk(findings, "limits", "No setting contradicts another.");
}

type Settings = Readonly<Record<string, number>>;

/** An unknown value is NaN, which is neither larger nor smaller, so it contradicts nothing. */
function value(settings: Settings, name: string): number {
  return settings[name] ?? NaN;
}

const CONTRADICTIONS: readonly ((settings: Settings) => Finding | null)[] = [
  (settings) => {
    const online = value(settings, "MESH_ONLINE_SECONDS");
    const heartbeat = value(settings, "MESH_HEARTBEAT_SECONDS");
    const remedy = `Set MESH_ONLINE_SECONDS to ${3 * heartbeat} or more.`;
    const paste = setVariable("MESH_ONLINE_SECONDS", 3 * heartbeat);
    const pace = `agents send a heartbeat every ${heartbeat} s (MESH_HEARTBEAT_SECONDS)`;
    if (online <= heartbeat) {
      return fault("limits", `Peers are online for ${online} s, and ${pace}.`, remedy, paste);
    }
    if (online < 2 * heartbeat) {
      return note(
        "limits",
        `One lost heartbeat takes a peer offline: it is online for ${online} s, and ${pace}.`,
        remedy,
        paste,
      );
    }
    return null;
  },
  (settings) => {
    const quota = value(settings, "ARTIFACTS_QUOTA_BYTES");
    const largest = value(settings, "ARTIFACTS_MAX_SIZE_BYTES");
    if (quota === 0 || !(quota < largest)) return null;
    return fault(
      "limits",
      `No agent can hold a file of ${largest} bytes (ARTIFACTS_MAX_SIZE_BYTES): its quota is ${quota} (ARTIFACTS_QUOTA_BYTES).`,
      "Raise the quota, or lower the largest size.",
      setVariable("ARTIFACTS_MAX_SIZE_BYTES", quota),
    );
  },
  (settings) => {
    const perTarget = value(settings, "MESH_MAX_REQUESTS_PER_TARGET");
    const all = value(settings, "MESH_MAX_REQUESTS");
    if (!(perTarget > all)) return null;
    return note(
      "limits",
      `MESH_MAX_REQUESTS_PER_TARGET, ${perTarget}, is never reached: MESH_MAX_REQUESTS is ${all}.`,
      "Lower it, or raise MESH_MAX_REQUESTS.",
      setVariable("MESH_MAX_REQUESTS_PER_TARGET", all),
    );
  },
  (settings) => {
    const perMinute = value(settings, "RATE_LIMIT_REQUESTS_PER_MINUTE");
    const heartbeats = 60 / value(settings, "MESH_HEARTBEAT_SECONDS");
    if (perMinute === 0 || !(perMinute <= heartbeats)) return null;
    return fault(
      "limits",
      `The heartbeats of an agent alone use up RATE_LIMIT_REQUESTS_PER_MINUTE, ${perMinute}.`,
      "Raise it.",
      setVariable("RATE_LIMIT_REQUESTS_PER_MINUTE", Math.ceil(100 * heartbeats)),
    );
  },
];
