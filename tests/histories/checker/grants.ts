/** Rules of grants: a revoked grant is not served; a live grant is. */
import type { JsonObject } from "../../conformance/client.ts";
import {
  didHappen,
  effectEnd,
  entriesOf,
  type Entry,
  mayHappen,
  type Rule,
  type Violation,
} from "../history.ts";

/** A grant whose request was answered, and all requests that end it or may end it. */
interface KnownGrant {
  readonly entry: Entry;
  readonly grantId: unknown;
  readonly token: unknown;
  readonly artifactId: unknown;
  /** Null: every agent of a tag. */
  readonly toAgent: unknown;
  /** Requests that certainly ended the grant when they were answered. */
  readonly ends: readonly Entry[];
  /** Requests that may have ended the grant at any time after they began. */
  readonly possibleEnds: readonly Entry[];
}

/** /fetch, /open, /inbox and /inbox/take serve no grant that ended before their request began. */
export const endedGrantsAreNotServed: Rule = (history) => {
  const grants = knownGrants(history);
  const byToken = new Map(grants.map((grant) => [grant.token, grant]));
  const byId = new Map(grants.map((grant) => [grant.grantId, grant]));
  const violations: Violation[] = [];

  function assertAlive(grant: KnownGrant | undefined, served: Entry, rule: string): void {
    const end = grant?.ends.find((ended) => ended.end < served.start);
    if (end !== undefined) violations.push({ rule, entries: [grant!.entry, end, served] });
  }

  for (const served of history.filter(didHappen)) {
    if (served.operation === "/agent-artifacts/fetch") {
      assertAlive(byToken.get(served.request["grant_token"]), served, "a dead token was redeemed");
    }
    if (served.operation === "/agent-artifacts/inbox") {
      for (const { grant_id } of served.answer!["grants"] as { grant_id: string }[]) {
        assertAlive(byId.get(grant_id), served, "an inbox shows a dead grant");
      }
    }
    if (served.operation === "/agent-artifacts/inbox/take") {
      for (const { grant_id } of served.answer!["tasks"] as { grant_id: string }[]) {
        assertAlive(byId.get(grant_id), served, "a dead grant was taken");
      }
    }
  }
  return violations;
};

/** /open serves an artifact only to its owner, and to an agent whose grant may be live. */
export const nobodyOpensWithoutAGrant: Rule = (history) => {
  const grants = knownGrants(history);
  const registrations = new Map(
    entriesOf(history, "/agent-artifacts/register").filter(didHappen)
      .map((entry) => [entry.answer!["artifact_id"], entry]),
  );
  const unsure = entriesOf(history, "/agent-artifacts/grant")
    .filter((entry) => mayHappen(entry) && !didHappen(entry));
  // The answer to a task is granted to its giver.
  const replies = entriesOf(history, "/agent-artifacts/inbox/done").filter(mayHappen);
  const promises = standingGrants(history);
  return entriesOf(history, "/agent-artifacts/open").filter(didHappen).flatMap((opened) => {
    const { artifact_id } = opened.request;
    const registered = registrations.get(artifact_id);
    // If the answer to the registration was lost, the owner is unknown.
    if (registered === undefined || registered.agent === opened.agent) return [];
    const isLive = ({ entry, artifactId, toAgent, ends }: KnownGrant) =>
      artifactId === artifact_id && (toAgent ?? opened.agent) === opened.agent &&
      entry.start < opened.end &&
      !ends.some((end) => end.end < opened.start);
    const mayBeLive = ({ request, start }: Entry) =>
      request["artifact_id"] === artifact_id &&
      (request["to_agent"] ?? opened.agent) === opened.agent &&
      start < opened.end;
    const mayHaveReplied = ({ request, start }: Entry) =>
      (request["reply"] as { artifact_id: string } | undefined)?.artifact_id === artifact_id &&
      start < opened.end;
    const mayBePromised = ({ entry: { agent, request, start }, ends }: StandingGrant) =>
      agent === registered.agent && start < opened.end &&
      (request["to_agent"] ?? opened.agent) === opened.agent &&
      isPromised(request, String(registered.answer!["key"])) &&
      !ends.some((end) => end.end < opened.start);
    if (grants.some(isLive) || unsure.some(mayBeLive) || replies.some(mayHaveReplied)) return [];
    if (promises.some(mayBePromised)) return [];
    return [{ rule: "an artifact was opened without a live grant", entries: [opened] }];
  });
};

/** /inbox shows every grant that was answered earlier, unless a request may have ended it. */
export const grantsAreNotLost: Rule = (history) => {
  const grants = knownGrants(history);
  const whole = entriesOf(history, "/agent-artifacts/inbox")
    .filter((read) => didHappen(read) && read.answer!["next_cursor"] === null);
  return whole.flatMap((read) => {
    const shown = new Set(
      (read.answer!["grants"] as { grant_id: string }[]).map(({ grant_id }) => grant_id),
    );
    return grants
      .filter(({ entry, toAgent, grantId, possibleEnds }) =>
        toAgent === read.agent && entry.end < read.start && !shown.has(String(grantId)) &&
        !possibleEnds.some(({ start }) => start < read.end)
      )
      .map(({ entry }) => ({ rule: "an inbox misses a live grant", entries: [entry, read] }));
  });
};

/** A standing grant that may have been made, and the requests that ended it and its grants. */
interface StandingGrant {
  readonly entry: Entry;
  readonly ends: readonly Entry[];
}

function standingGrants(history: readonly Entry[]): StandingGrant[] {
  const ends = entriesOf(history, "/agent-artifacts/standing/end").filter((end) =>
    didHappen(end) && end.request["end_grants"] !== false && end.answer!["remaining"] === false
  );
  return entriesOf(history, "/agent-artifacts/standing/create").filter(mayHappen)
    .map((entry) => ({
      entry,
      ends: ends.filter(({ request }) => request["standing_id"] === entry.answer?.["standing_id"]),
    }));
}

function isPromised({ key, prefix }: JsonObject, name: string): boolean {
  return prefix === undefined ? name === key : name.startsWith(String(prefix));
}

function knownGrants(history: readonly Entry[]): KnownGrant[] {
  const revocations = entriesOf(history, "/agent-artifacts/revoke").filter(mayHappen);
  const deletions = entriesOf(history, "/agent-artifacts/delete").filter(mayHappen);
  return entriesOf(history, "/agent-artifacts/grant").filter(didHappen).map((entry) => {
    const { grant_id: grantId, token, artifact_id: artifactId, to_agent: toAgent } = entry.answer!;
    const possibleEnds = [
      ...revocations.filter(({ request }) =>
        request["grant_id"] === grantId ||
        request["artifact_id"] === artifactId && request["to_agent"] === toAgent
      ),
      ...deletions.filter(({ request }) => request["artifact_id"] === artifactId),
    ].filter((end) => effectEnd(end) > entry.start);
    // A request that began before the answer to the grant may have run before the grant, without
    // effect.
    const ends = possibleEnds.filter((end) => didHappen(end) && end.start > entry.end);
    return { entry, grantId, token, artifactId, toAgent, ends, possibleEnds };
  });
}
