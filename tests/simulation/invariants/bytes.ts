import { DOWNLOAD } from "../../histories/history.ts";
import type { Invariant } from "../registry.ts";

const OPENING = new Set(["/agent-artifacts/open", "/agent-artifacts/fetch"]);

export const BYTES: readonly Invariant[] = [
  {
    name: "the bytes of a committed artifact are those of its digest",
    look(world, known) {
      const lost = new Set(known.artifacts.filter(({ isLost }) => isLost).map(({ id }) => id));
      const rows = world.database.read(
        `select a.artifact_id, a.sha256, o.version
        from artifacts.artifacts a
        left join storage.objects o
          on o.name = artifacts.sealed_path(a.artifact_id, a.sealed_attempt)
        where a.state in ('committed', 'superseded') and a.ended_at is null`,
      );
      return rows.filter(({ artifact_id, sha256, version }) =>
        !lost.has(artifact_id!) && (version === null || world.bytes.digest(version!) !== sha256)
      ).map(({ artifact_id, version }) =>
        `${artifact_id} has ${version === null ? "no object" : "other bytes"}`
      );
    },
  },
  {
    name: "a download has the committed bytes",
    hear({ operation, status, request, answer }, known) {
      if (operation !== DOWNLOAD || status !== 200) return null;
      const artifact = known.artifacts.find(({ id }) => id === request["artifact_id"]);
      const digests = [answer!["sha256"], request["sha256"], artifact?.sha256 ?? request["sha256"]];
      return new Set(digests).size > 1 ? `other bytes of ${artifact?.name}` : null;
    },
  },
  {
    name: "nobody opens what the operator's check has found lost",
    hear({ operation, status, start, answer }, { artifacts, identities }) {
      if (!OPENING.has(operation) || status !== 200) return null;
      const artifact = artifacts.find(({ id }) => id === answer!["artifact_id"]);
      const told = artifact?.toldLost ?? Infinity;
      // A backup may be from before the check.
      const isForgotten = (identities.restoredAt ?? 0) > told;
      return told < start && !isForgotten ? `${artifact!.name} was opened` : null;
    },
  },
  {
    name: "an upload can be committed within five minutes in which nothing fails",
    look: (_world, { stuck }) => stuck,
  },
];
