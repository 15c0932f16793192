import type { GivenGrant, InboxEntry } from "../contract/types.ts";
import { AGENT_ID } from "../transfer/names.ts";
import { countDownload, type FileOperations } from "./file_operations.ts";
import { check, checkRange, Refusal } from "./refusal.ts";
import { contentOf, type Input, iso, newId, page, type Store, type StoredGrant } from "./store.ts";

/** The operations on grants, by their path. `agent` is the caller. */
export class GrantOperations {
  readonly #store: Store;
  readonly #files: FileOperations;

  constructor(store: Store, files: FileOperations) {
    this.#store = store;
    this.#files = files;
  }

  grant(agent: string, input: Input): object {
    const file = this.#store.ownFile(agent, input.artifact_id);
    const name = JSON.stringify([agent, input.idempotency_key]);
    const [said, known] = this.#store.handOvers.get(name) ?? [];
    if (known !== undefined) {
      if (said !== JSON.stringify(input)) throw new Refusal("idempotency_conflict");
      return { ...granted(known), token: null, repeated: true };
    }
    if (file.artifact.state === "pending") throw new Refusal("artifact_not_committed");
    if (!this.#store.isFileLive(file)) throw new Refusal("artifact_expired");
    const { to_agent = null, max_downloads = null, max_attempts = 5, reply_to = null } = input;
    check(to_agent === null || AGENT_ID.test(to_agent), "to_agent", "Cannot be an agent.");
    const until = Date.parse(input.expires_at);
    check(until > this.#store.now(), "expires_at", "Must lie in the future.");
    if (max_downloads !== null) checkRange(max_downloads, "max_downloads", 1, 1000);
    checkRange(max_attempts, "max_attempts", 1, 100);
    if (reply_to !== null && !this.#isParty(agent, reply_to)) throw new Refusal("grant_not_found");
    const isUnknown = to_agent !== null && !new Set(this.#store.keys.values()).has(to_agent);
    check(!isUnknown || !input.known_only, "to_agent", "Nobody has had this name so far.");
    const now = this.#store.now();
    const given: GivenGrant = {
      grant_id: newId("grant_"),
      artifact_id: input.artifact_id,
      key: file.artifact.key,
      to_agent,
      granted_at: iso(now),
      expires_at: iso(until),
      max_downloads,
      downloads: 0,
      note: input.note ?? null,
      deliver: to_agent === null ? null : "each",
      state: to_agent === null ? null : "waiting",
      attempt: to_agent === null ? null : 0,
      shown_at: null,
      done_at: null,
      reason: null,
      reply_grant_id: null,
      tasks: null,
    };
    const grant: StoredGrant = {
      given,
      token: `g_${newId("")}${newId("").slice(0, 11)}`,
      file,
      from: agent,
      replyTo: reply_to,
      maxAttempts: max_attempts,
      isRevoked: false,
      position: ++this.#store.position,
      readyAt: now,
      takeId: null,
      taker: null,
    };
    this.#store.grants.push(grant);
    if (input.idempotency_key) this.#store.handOvers.set(name, [JSON.stringify(input), grant]);
    return { ...granted(grant), ...(isUnknown && { unknown_recipient: true }) };
  }

  revoke(agent: string, input: Input): object {
    if (input.grant_id === undefined) this.#store.ownFile(agent, input.artifact_id);
    const ended = this.#store.grants.filter((grant) =>
      grant.from === agent && this.#store.isLive(grant) && hasAll(grant.given, input)
    );
    for (const grant of ended) grant.isRevoked = true;
    return { revoked: ended.length, grant_ids: ended.map(({ given }) => given.grant_id) };
  }

  fetch(_agent: string, { grant_token }: Input): object {
    const grant = this.#store.grants.find(({ token }) => token === grant_token);
    if (grant === undefined) throw new Refusal("grant_not_found");
    this.#store.refuseEnded(grant);
    countDownload(grant);
    return this.#files.download(grant.file);
  }

  grants(agent: string, { agent_id: _, limit, cursor, ...names }: Input): object {
    const given = this.#store.grants.filter((grant) =>
      grant.from === agent && this.#store.isLive(grant) && hasAll(grant.given, names)
    ).map((grant) => {
      const state = grant.given.state === null ? null : this.#store.stateOf(grant);
      const taken_by = state === "taken" || state === "done" ? grant.taker : null;
      const taken_until = state === "taken" ? iso(grant.readyAt) : null;
      return { ...grant.given, state, taken_by, taken_until };
    });
    const sorted = given.toSorted((one, other) => one.expires_at < other.expires_at ? -1 : 1);
    return page("grants", sorted, { limit, cursor });
  }

  inbox(agent: string, { from_agent, after, states, ...input }: Input): object {
    const { latest, found } = this.newsFor(agent, after ?? "testing:0");
    const shown = found.filter((grant) =>
      (from_agent === undefined || grant.from === from_agent) &&
      (states ?? ["waiting", "taken"]).includes(this.#store.stateOf(grant))
    );
    for (const { given } of shown) given.shown_at ??= iso(this.#store.now());
    const sorted = shown.toSorted((one, other) => other.position - one.position);
    return { ...page("grants", sorted.map((grant) => this.entry(grant)), input), latest };
  }

  /** The live grants to an agent that wait since a position, and the position to ask for next. */
  newsFor(agent: string, after: string): { latest: string; found: StoredGrant[] } {
    const position = Number(after.split(":")[1]);
    const found = this.#store.grants.filter((grant) =>
      grant.given.to_agent === agent && grant.position > position && this.#store.isLive(grant)
    );
    return { latest: `testing:${this.#store.position}`, found };
  }

  /** A grant as its grantee sees it. */
  entry(grant: StoredGrant): Required<InboxEntry> {
    const { grant_id, granted_at, expires_at, note = null, attempt } = grant.given;
    const state = this.#store.stateOf(grant);
    const isPaused = state === "waiting" && grant.readyAt > this.#store.now();
    return {
      ...contentOf(grant.file),
      grant_id,
      from_agent: grant.from,
      granted_at,
      expires_at,
      note,
      reply_to: grant.replyTo,
      deliver: "each",
      superseded: grant.file.artifact.state === "superseded",
      state,
      attempt: attempt!,
      next_at: isPaused ? iso(grant.readyAt) : null,
    };
  }

  #isParty(agent: string, grantId: string): boolean {
    const grant = this.#store.grants.find(({ given }) => given.grant_id === grantId);
    return grant !== undefined && [grant.from, grant.given.to_agent].includes(agent);
  }
}

function granted({ given, token }: StoredGrant): object {
  const { grant_id, artifact_id, to_agent, expires_at } = given;
  return { grant_id, token, artifact_id, to_agent, expires_at };
}

/** Whether a grant has all these values. */
function hasAll(given: GivenGrant, fields: Input): boolean {
  return Object.entries(fields).every(([name, value]) => given[name as keyof GivenGrant] === value);
}
