import { Written, writtenOf } from "./written.ts";

/** What a host's configuration says of a neighbour. */
export interface Neighbour {
  readonly psk: string;
  readonly endpoint: string | null;
}

export interface Applied {
  readonly version: number;
  readonly peers: ReadonlyMap<string, Neighbour>;
}

/**
 * What a host was told: a configuration that it fetched, or, by a heartbeat, that the one that it
 * runs is still the newest. Either was true at some moment from `start` to `end`.
 */
export interface View extends Applied {
  readonly host: string;
  readonly start: number;
  readonly end: number;
}

/** A request after which a pair, or all pairs of an agent, may have another PSK. */
export interface Rotation {
  readonly agents: readonly string[];
  readonly start: number;
  end: number;
}

/** What a neighbour's path was said to be. */
export interface Reported {
  readonly reporter: string;
  readonly other: string;
  readonly endpoint: string;
  readonly start: number;
  readonly end: number;
}

/** So many active rules may name one agent. Small, so that histories reach it. */
export const MOST_RULES = 4;

/** What a history knows of the mesh. */
export class Mesh {
  /** The newest endpoint of each host; undefined: it has not registered. */
  readonly endpoints = new Map<string, Written<string | undefined>>();
  /** By `ruleName`. */
  readonly rules = new Map<string, Written<boolean>>();
  /** Where a host has said that it sees another, by `reporter other`. */
  readonly paths = new Map<string, Written<string | null>>();
  readonly rotations: Rotation[] = [];
  readonly views: View[] = [];
  readonly reported: Reported[] = [];
  readonly applied = new Map<string, Applied>();
  /** The newest public key that each host has sent. */
  readonly pubkeys = new Map<string, string>();
  /** The registrations that may still take effect, and the public key of each. */
  readonly registering = new Map<Rotation, string>();
  /** How many views and reports the invariants have looked at. */
  lookedAt = { views: 0, reported: 0 };

  endpointOf(host: string): Written<string | undefined> {
    return writtenOf(this.endpoints, host, undefined);
  }

  pathOf(reporter: string, other: string): Written<string | null> {
    return writtenOf(this.paths, `${reporter} ${other}`, null);
  }

  ruleOf(name: string): Written<boolean> {
    return writtenOf(this.rules, name, false);
  }

  /**
   * A host sends its public key. If that is not the former one, the PSKs of its pairs change, also
   * when an earlier registration takes effect after it.
   */
  register(host: string, pubkey: string, start: number): Rotation {
    const rotation = { agents: [host], start, end: Infinity };
    const underWay = [...this.registering].filter(([{ agents }]) => agents.includes(host));
    const others = underWay.filter(([, key]) => key !== pubkey).map(([one]) => one);
    const isChange = this.pubkeys.get(host) !== pubkey || others.length > 0;
    for (const one of isChange ? [...others, rotation] : []) {
      if (!this.rotations.includes(one)) this.rotations.push(one);
    }
    this.pubkeys.set(host, pubkey);
    this.registering.set(rotation, pubkey);
    return rotation;
  }

  /** After a restore, nobody knows what is in force. */
  forget(place: number): void {
    for (const values of [this.endpoints, this.rules, this.paths]) {
      for (const value of values.values()) value.forget(place);
    }
    this.views.length = this.reported.length = 0;
    this.applied.clear();
    this.pubkeys.clear();
    this.lookedAt = { views: 0, reported: 0 };
  }
}

export function ruleName(from: string, to: string, port: number): string {
  return `${from} > ${to}:${port}`;
}
