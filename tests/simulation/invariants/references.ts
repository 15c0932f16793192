import type { Invariant } from "../registry.ts";

export const REFERENCES: readonly Invariant[] = [
  {
    name: "a committed artifact names its object's path",
    sql: `select a.artifact_id || ' is ' || a.state || ' without a path' as broken
      from artifacts.artifacts a
      where a.state in ('committed', 'superseded') and a.sealed_attempt is null`,
  },
  {
    name: "sweeps leave no object that belongs to no artifact",
    atEnd(world) {
      return world.database.query(
        `select o.name as broken from storage.objects o
        where not exists (
          select from artifacts.artifacts a
          where a.ended_at is null and a.state in ('committed', 'superseded', 'pending')
            and o.name in (
              artifacts.incoming_path(a.artifact_id),
              artifacts.sealed_path(a.artifact_id, a.sealed_attempt)
            )
        )`,
      ).map(({ broken }) => broken!);
    },
  },
  {
    name: "Storage has no bytes that no row names",
    atEnd(world, { hasDatabaseJumped }) {
      // A move that outlasts its lease may leave a copy behind, and a clock that jumps ends leases.
      if (hasDatabaseJumped) return [];
      const rows = world.database.query("select version from storage.objects");
      const named = new Set(rows.map(({ version }) => version));
      return world.bytes.versions.filter((version) => !named.has(version));
    },
  },
];
