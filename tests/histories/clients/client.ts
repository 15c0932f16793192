import type { Agent, JsonObject, Sender } from "../../conformance/client.ts";
import type { Random } from "../../seeds/random.ts";
import type { Entry } from "../history.ts";
import type { Recorder } from "../recorder.ts";

/** Somebody who sends one request after the other. */
export interface Client {
  /** One operation, with all the requests that it takes. */
  act(): Promise<void>;
  /** Reads everything that the agent can see, when nothing goes on any more. */
  look(): Promise<void>;
}

export interface ClientOptions {
  readonly agent: Agent;
  /** Everybody, this client's agent included. */
  readonly agents: readonly Agent[];
  readonly operator: Sender;
  readonly recorder: Recorder;
  readonly random: Random;
}

/** Something that a client can do, and how often it does it, relative to the rest. */
export type Action = readonly [weight: number, act: () => Promise<unknown>];

export function pickAction(actions: readonly Action[], random: Random): () => Promise<unknown> {
  let left = random.below(actions.reduce((sum, [weight]) => sum + weight, 0));
  return actions.find(([weight]) => (left -= weight) < 0)![1];
}

/** Asks as the agent itself. */
export function askAs(
  { agent, recorder }: ClientOptions,
  operation: string,
  request: JsonObject,
): Promise<Entry> {
  return recorder.ask({ operation, agent: agent.id, as: agent, request });
}
