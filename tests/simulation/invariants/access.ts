import {
  endedGrantsAreNotServed,
  nobodyOpensWithoutAGrant,
} from "../../histories/checker/grants.ts";
import { contentIsTheDigest, oneCurrentPerKey } from "../../histories/checker/artifacts.ts";
import type { Invariant } from "../registry.ts";

/** Rules of the checker that hold whatever expires, and whatever clock is wrong. */
const RULES = [
  endedGrantsAreNotServed,
  contentIsTheDigest,
  oneCurrentPerKey,
];

const OPENING = new Set(["/agent-artifacts/open", "/agent-artifacts/fetch"]);

export const ACCESS: readonly Invariant[] = [
  {
    name: "nobody opens what was deleted",
    hear({ operation, status, start, answer }, known) {
      if (!OPENING.has(operation) || status !== 200) return null;
      const artifact = known.artifacts.find(({ id }) => id === answer!["artifact_id"]);
      return artifact?.deleted !== undefined && artifact.deleted < start
        ? `${artifact.name} was opened after its deletion`
        : null;
    },
  },
  {
    name: "nobody opens what has expired",
    hear({ operation, status, askedAt, answer, request }, known) {
      if (!OPENING.has(operation) || status !== 200 || known.hasDatabaseGoneBack) return null;
      const artifact = known.artifacts.find(({ id }) => id === answer!["artifact_id"]);
      const grant = known.grants.find(({ token }) => token === request["grant_token"]);
      return [artifact, grant].find((ended) => (ended?.expiresAt ?? Infinity) < askedAt)?.name ??
        null;
    },
  },
  {
    name: "no answer is an unexplained 500",
    hear: ({ operation, status }) =>
      status === 500 && operation.startsWith("/") ? `${operation} answered 500` : null,
  },
  {
    name: "nobody opens without a grant",
    // Not before: the answer to a grant may still be on its way when it is used.
    atEnd: (_world, { history }) =>
      nobodyOpensWithoutAGrant(history).map(({ entries }) =>
        entries.map(({ operation, agent }) => `${operation} by ${agent}`).join(", ")
      ),
  },
  {
    name: "the history does not contradict the contract",
    look: (_world, { history, underWay }) =>
      RULES.flatMap((rule) => rule([...history, ...underWay])).map(({ rule, entries }) =>
        `${rule}: ${entries.map(({ operation, agent }) => `${operation} by ${agent}`).join(", ")}`
      ),
  },
];
