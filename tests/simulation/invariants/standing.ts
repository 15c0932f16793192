import type { Heard, Known } from "../known/known.ts";
import { covers, type KnownStanding } from "../known/standing.ts";
import type { Invariant } from "../registry.ts";
import type { World } from "../world/world.ts";

interface MadeGrant {
  readonly grantId: string;
  readonly standing: KnownStanding;
  readonly key: string;
  readonly grantee: string;
  readonly isLive: boolean;
}

/** The grants of the standing grants that somebody was answered. */
function madeGrants({ database }: World, { standing }: Known): readonly MadeGrant[] {
  if (standing.length === 0) return [];
  const byId = new Map(standing.map((one) => [one.id, one]));
  const rows = database.read(
    `select g.grant_id, g.standing_id, g.grantee, a.key,
      g.live_until > clock_timestamp() as is_live
    from artifacts.grants g join artifacts.artifacts a on a.artifact_id = g.artifact_id
    where g.standing_id is not null`,
  );
  return rows.filter(({ standing_id }) => byId.has(standing_id!)).map((row) => ({
    grantId: row["grant_id"]!,
    standing: byId.get(row["standing_id"]!)!,
    key: row["key"]!,
    grantee: row["grantee"]!.replace("#", ""),
    isLive: row["is_live"] === "t",
  }));
}

function complaint({ standing, key, grantee, isLive }: MadeGrant, known: Known): string | null {
  if (!covers(standing, key)) return `${standing.name} grants ${key}`;
  if (grantee !== standing.grantee) return `${standing.name} grants to ${grantee}`;
  return isLive && standing.isEmptied && !known.hasDatabaseGoneBack
    ? `a grant of ${standing.name} is live after its end`
    : null;
}

/** What was there before a standing grant with `existing`, and was not granted. */
function missing({ database }: World, { id, name }: KnownStanding): readonly string[] {
  return database.read(
    `select a.artifact_id
    from artifacts.standing_grants s
    join artifacts.artifacts a on a.agent_id = s.from_agent
      and a.state = 'committed' and a.ended_at is null and a.expires_at > s.created_at
      and ${IS_COVERED}
    join agents.events e on e.object_id = a.artifact_id and e.action = 'artifact.committed'
      and e.transaction_id < s.transaction_id
    where s.standing_id = $1 and s.ended_at is null and not exists (
      select from artifacts.grants g
      where g.standing_id = s.standing_id and g.artifact_id = a.artifact_id
    )`,
    [id],
  ).map(({ artifact_id }) => `${name} does not grant ${artifact_id}`);
}

const IS_COVERED = `
  case when s.is_prefix then starts_with(a.key, s.covered_name) else a.key = s.covered_name end`;

export const STANDING: readonly Invariant[] = [
  {
    name: "a standing grant makes grants as it was asked for, and they end with it",
    look(world, known) {
      if (world.isClosed) return [];
      return madeGrants(world, known).flatMap((made) => complaint(made, known) ?? []);
    },
  },
  {
    name: "a standing grant grants each commit that it promises",
    sql: `select s.standing_id || ' does not grant ' || a.artifact_id as broken
      from artifacts.standing_grants s
      join artifacts.artifacts a on a.agent_id = s.from_agent
        and a.state = 'committed' and a.ended_at is null and a.expires_at > clock_timestamp()
        and ${IS_COVERED}
      join agents.events e on e.object_id = a.artifact_id and e.action = 'artifact.committed'
        and e.transaction_id > s.transaction_id and e.occurred_at < s.expires_at
      where s.ended_at is null and not exists (
        select from artifacts.grants g
        where g.standing_id = s.standing_id and g.artifact_id = a.artifact_id
      )`,
  },
  {
    name: "a standing grant that has ended, or expired, grants no commit",
    sql: `select s.standing_id || ' has granted ' || e.object_id as broken
      from artifacts.standing_grants s
      join agents.events e
        on e.action = 'grant.created' and e.details ->> 'standing_id' = s.standing_id
      where e.occurred_at >= s.expires_at or exists (
        select from agents.events d
        where d.action = 'standing.ended' and d.object_id = s.standing_id
          and d.transaction_id < e.transaction_id
      )`,
  },
  {
    name: "a standing grant with `existing` grants what is there",
    look(world, { standing }) {
      const made = standing.filter(({ isForExisting, isLookedAt }) => isForExisting && !isLookedAt);
      for (const one of made) one.isLookedAt = true;
      return made.flatMap((one) => missing(world, one));
    },
  },
  {
    name: "a standing grant that ends without its grants ends none of them",
    hear({ operation, status, request, answer }: Heard) {
      if (operation !== "/agent-artifacts/standing/end" || status !== 200) return null;
      return request["end_grants"] === false && answer!["revoked"] !== 0
        ? `${request["standing_id"]} has ended ${answer!["revoked"]} grants`
        : null;
    },
  },
];
