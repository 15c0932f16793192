import type { Invariant } from "../registry.ts";

export const RESTORES: readonly Invariant[] = [
  {
    name: "a position from before a restore is refused",
    hear({ operation, status, start, request }, { identities }) {
      if (operation !== "/agent-artifacts/events" || status !== 200) return null;
      const { restoredAt } = identities;
      if (restoredAt === null || start < restoredAt) return null;
      const position = identities.positions.find(({ after }) => after === request["after"]);
      return position !== undefined && position.given < restoredAt
        ? `${position.name} was accepted after the restore`
        : null;
    },
  },
];
