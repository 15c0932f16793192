import { ServiceError } from "../../request/errors.ts";
import type { CallerArgument } from "../../identity/callers/caller.ts";
import type { Identity } from "../../request/request_record.ts";

/** How many requests of one agent, or one agent's users, may wait. One more ends the oldest. */
const MAX_PLACES_OF_ONE = 32;

/** A random delay, so that requests that were refused together do not come back together. */
const SHORTEST_RETRY_SECONDS = 60;
const LONGEST_RETRY_SECONDS = 120;

/** A request's place among those that wait, from before its first question until its answer. */
export interface Place {
  /**
   * Keeps the place, once the database has authenticated the caller. False: the place is lost.
   * Throws upstream_unavailable if its owner, who is known only now, may take nobody's place.
   */
  keep(onLoss: () => void, identity?: Identity | null): boolean;
  /** Frees the place. Does nothing if it was freed or lost before. */
  leave(): void;
}

/** Who has a place. */
interface Owner {
  /** The enrolment that the agent came by; else the agent itself. */
  readonly party: string;
  readonly agent: string;
}

/** The places of one party. An agent without places has no entry. */
class Party {
  /** Oldest first. */
  readonly byAgent = new Map<string, Set<OwnPlace>>();
  size = 0;

  /** The places of the agent that has most. Empty if nobody has any. */
  get mostOfOne(): ReadonlySet<OwnPlace> {
    let most: ReadonlySet<OwnPlace> = new Set();
    for (const places of this.byAgent.values()) if (places.size > most.size) most = places;
    return most;
  }
}

/**
 * The places of one process for requests that wait. They are limited, because each takes memory.
 * They are shared fairly, first between parties, then between the agents of a party: when all are
 * taken, the party that has most loses one to a party with at least two fewer. With an enrolment
 * key, one can make any number of agents, so all agents of an enrolment are one party.
 */
export class Places {
  readonly #maximum: number;
  /** A party without places has no entry. */
  readonly #parties = new Map<string, Party>();
  #taken = 0;
  #kept = 0;

  constructor(maximum: number) {
    this.#maximum = maximum;
  }

  /**
   * `identity` is what is known of the caller before the database is asked. Throws
   * upstream_unavailable if there is no room.
   */
  enter(caller: CallerArgument, identity: Identity | null = null): Place {
    const owner = ownerOf(caller, identity);
    if (!this.#makesRoomOfOwn(caller, owner, MAX_PLACES_OF_ONE - 1)) {
      if (this.#taken >= this.#maximum && this.#loserTo(owner, 1) === null) {
        throw noRoom(this.#maximum);
      }
    }
    const place = new OwnPlace(owner, {
      keep: (known) => {
        if (known !== null) {
          this.#remove(place);
          place.owner = ownerOf(caller, known);
          this.#add(place);
          this.#makesRoomOfOwn(caller, place.owner, MAX_PLACES_OF_ONE);
        }
        this.#kept++;
        // Only after authentication: invented agent keys must not displace callers that wait.
        while (this.#kept > this.#maximum) {
          const loser = this.#loserTo(place.owner, 0);
          if (loser === null) throw noRoom(this.#maximum);
          loser.lose();
        }
      },
      free: (wasKept) => {
        if (wasKept) this.#kept--;
        this.#taken--;
        this.#remove(place);
      },
    });
    this.#taken++;
    this.#add(place);
    return place;
  }

  /** Ends the oldest place of an agent that has more than `most`. False: it has not. */
  #makesRoomOfOwn(caller: CallerArgument, { party, agent }: Owner, most: number): boolean {
    const own = this.#parties.get(party)?.byAgent.get(agent);
    if (caller.kind === "operator" || own === undefined || own.size <= most) return false;
    oldestOf(own).lose();
    return true;
  }

  /**
   * The place that its owner loses to an owner who gets `more` places than now. Null: nobody has at
   * least two more than the owner would then be left with.
   */
  #loserTo({ party, agent }: Owner, more: number): OwnPlace | null {
    const own = this.#parties.get(party);
    let greediest: Party | undefined;
    for (const other of this.#parties.values()) {
      if (other.size > (greediest?.size ?? 0)) greediest = other;
    }
    if (greediest !== undefined && greediest.size > (own?.size ?? 0) + more) {
      return oldestOf(greediest.mostOfOne);
    }
    const most = own?.mostOfOne ?? new Set();
    return most.size > (own?.byAgent.get(agent)?.size ?? 0) + more ? oldestOf(most) : null;
  }

  #add(place: OwnPlace): void {
    const { party, agent } = place.owner;
    const its = this.#parties.get(party) ?? new Party();
    this.#parties.set(party, its);
    const own = its.byAgent.get(agent) ?? new Set();
    its.byAgent.set(agent, own.add(place));
    its.size++;
  }

  #remove(place: OwnPlace): void {
    const { party, agent } = place.owner;
    const its = this.#parties.get(party)!;
    const own = its.byAgent.get(agent)!;
    own.delete(place);
    if (own.size === 0) its.byAgent.delete(agent);
    if (--its.size === 0) this.#parties.delete(party);
  }
}

interface Room {
  readonly keep: (identity: Identity | null) => void;
  readonly free: (wasKept: boolean) => void;
}

class OwnPlace implements Place {
  owner: Owner;
  readonly #room: Room;
  #state: "taken" | "kept" | "left" = "taken";
  #onLoss = () => {};

  constructor(owner: Owner, room: Room) {
    this.owner = owner;
    this.#room = room;
  }

  keep(onLoss: () => void, identity: Identity | null = null): boolean {
    this.#onLoss = onLoss;
    if (this.#state === "taken") {
      this.#state = "kept";
      try {
        this.#room.keep(identity);
      } catch (error) {
        this.leave();
        throw error;
      }
    }
    return this.#isKept;
  }

  lose(): void {
    this.leave();
    this.#onLoss();
  }

  leave(): void {
    if (this.#state === "left") return;
    const wasKept = this.#isKept;
    this.#state = "left";
    this.#room.free(wasKept);
  }

  /** A method's call can change the state, which the compiler would not expect of the field. */
  get #isKept(): boolean {
    return this.#state === "kept";
  }
}

/** An agent key whose agent is not known yet is a party by itself. */
function ownerOf({ kind, key_hash, agent_id }: CallerArgument, identity: Identity | null): Owner {
  const agent = identity !== null
    ? `agent ${identity.agentId}`
    : agent_id !== undefined
    ? `agent ${agent_id}`
    : `${kind} ${key_hash ?? ""}`;
  return { party: identity?.enrolmentId ?? agent, agent };
}

/** `places` has at least one. */
function oldestOf(places: ReadonlySet<OwnPlace>): OwnPlace {
  const [oldest] = places;
  return oldest!;
}

function noRoom(maximum: number): ServiceError {
  const range = LONGEST_RETRY_SECONDS - SHORTEST_RETRY_SECONDS + 1;
  return new ServiceError("upstream_unavailable", {
    message:
      "Too many requests are waiting here. Retry later, or send this one without `wait_seconds`.",
    details: { limit: "waits_at_once", maximum },
    retryAfterSeconds: SHORTEST_RETRY_SECONDS + Math.floor(Math.random() * range),
  });
}
