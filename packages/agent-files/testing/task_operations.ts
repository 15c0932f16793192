import type { GrantOperations } from "./grant_operations.ts";
import { check, checkRange, Refusal } from "./refusal.ts";
import { type Input, iso, newId, type Store, type StoredGrant } from "./store.ts";

const LONGEST_PAUSE_SECONDS = 3600;

/** The operations on grants as work, by their path. `agent` is the caller. */
export class TaskOperations {
  readonly #store: Store;
  readonly #grants: GrantOperations;

  constructor(store: Store, grants: GrantOperations) {
    this.#store = store;
    this.#grants = grants;
  }

  take(agent: string, { max = 1, seconds = 300, prefix = "", from_agent }: Input): object {
    checkRange(max, "max", 1, 50);
    checkRange(seconds, "seconds", 30, 3600);
    const now = this.#store.now();
    const ready = this.#store.grants.filter((grant) =>
      grant.given.to_agent === agent && this.#store.isLive(grant) && grant.readyAt <= now &&
      this.#store.stateOf(grant) === "waiting" && grant.given.key.startsWith(prefix) &&
      (from_agent === undefined || grant.from === from_agent)
    ).toSorted((one, other) => one.readyAt - other.readyAt || one.position - other.position);
    const tasks = ready.slice(0, max).map((grant) => {
      const [take_id, until] = [newId("take_"), now + seconds * 1000];
      Object.assign(grant, { takeId: take_id, taker: agent, readyAt: until });
      const { attempt, shown_at } = grant.given;
      Object.assign(grant.given, { state: "taken", attempt: attempt! + 1 });
      grant.given.shown_at = shown_at ?? iso(now);
      return { take_id, taken_until: iso(until), ...this.#grants.entry(grant) };
    });
    return { tasks };
  }

  extend(agent: string, { take_id, seconds }: Input): object {
    checkRange(seconds, "seconds", 30, 3600);
    const grant = this.#held(agent, take_id);
    grant.readyAt = this.#store.now() + seconds * 1000;
    return { take_id, taken_until: iso(grant.readyAt) };
  }

  done(agent: string, { take_id, grant_id, reply }: Input): object {
    check((take_id === undefined) !== (grant_id === undefined), "take_id", "Or grant_id.");
    const grant = take_id === undefined
      ? this.#find(grant_id, (one) => one.given.to_agent === agent)
      : this.#taken(agent, take_id);
    const { given } = grant;
    if (given.state !== "done") {
      this.#store.refuseEnded(grant);
      const isHeld = this.#store.stateOf(grant) === "taken";
      if (isHeld === (take_id === undefined)) throw new Refusal("take_lapsed");
      if (reply !== undefined) given.reply_grant_id = this.#reply(agent, grant, reply);
      const done_at = iso(this.#store.now());
      Object.assign(given, { state: "done", done_at, reason: null });
      Object.assign(grant, { takeId: take_id ?? null, taker: agent });
    }
    const answer = given.reply_grant_id ? { grant_id: given.reply_grant_id } : null;
    return { grant_id: given.grant_id, state: "done", reply: answer };
  }

  fail(agent: string, { take_id, reason, retry_after_seconds, ...how }: Input): object {
    const { final = false, interrupted = false } = how;
    const isReason = typeof reason === "string" && reason.length >= 1 && reason.length <= 500;
    check(isReason, "reason", "Must be 1 to 500 characters.");
    const grant = this.#taken(agent, take_id);
    const { given } = grant;
    if (given.state === "taken" || given.state === "done") {
      this.#held(agent, take_id);
      const isParked = final || !interrupted && given.attempt! >= grant.maxAttempts;
      const pause = Math.min(LONGEST_PAUSE_SECONDS, 10 * 2 ** (given.attempt! - 1));
      const attempt = given.attempt! - (interrupted && !isParked ? 1 : 0);
      Object.assign(given, { state: isParked ? "parked" : "waiting", reason, attempt });
      this.#waitAgain(grant, retry_after_seconds ?? (interrupted ? 0 : pause));
    }
    const next_at = given.state === "parked" ? null : iso(grant.readyAt);
    return { grant_id: given.grant_id, state: given.state, next_at };
  }

  requeue(agent: string, { grant_id }: Input): object {
    const grant = this.#find(
      grant_id,
      ({ from, given }) => from === agent && given.to_agent !== null,
    );
    this.#store.refuseEnded(grant);
    const state = this.#store.stateOf(grant);
    if (state === "taken" || state === "done") return { grant_id, state };
    Object.assign(grant.given, { state: "waiting", attempt: 0 });
    grant.takeId = null;
    this.#waitAgain(grant, 0);
    return { grant_id, state: "waiting" };
  }

  #waitAgain(grant: StoredGrant, seconds: number): void {
    grant.readyAt = this.#store.now() + seconds * 1000;
    grant.position = ++this.#store.position;
  }

  #reply(agent: string, grant: StoredGrant, { artifact_id, note, expires_at }: Input): string {
    const { artifact } = this.#store.ownFile(agent, artifact_id);
    const made = this.#grants.grant(agent, {
      artifact_id,
      to_agent: grant.from,
      reply_to: grant.given.grant_id,
      expires_at: expires_at ?? artifact.expires_at,
      ...(note !== undefined && { note }),
    });
    return (made as { grant_id: string }).grant_id;
  }

  /** Throws `grant_not_found`. */
  #find(grantId: string, isRight: (grant: StoredGrant) => boolean): StoredGrant {
    const grant = this.#store.grants.find(({ given }) => given.grant_id === grantId);
    if (grant === undefined || !isRight(grant)) throw new Refusal("grant_not_found");
    return grant;
  }

  /** The task whose last take this is. Throws `take_lapsed`. */
  #taken(agent: string, takeId: string): StoredGrant {
    const grant = this.#store.grants.find((one) => one.takeId === takeId && one.taker === agent);
    if (grant === undefined) throw new Refusal("take_lapsed");
    return grant;
  }

  /** The task that this take still holds. Throws `take_lapsed`, or what ended its grant. */
  #held(agent: string, takeId: string): StoredGrant {
    const grant = this.#taken(agent, takeId);
    this.#store.refuseEnded(grant);
    if (this.#store.stateOf(grant) !== "taken") throw new Refusal("take_lapsed");
    return grant;
  }
}
