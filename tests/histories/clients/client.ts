import type { Agent, JsonObject, Sender } from "../../conformance/client.ts";
import type { Random } from "../../seeds/random.ts";
import type { Entry } from "../history.ts";
import type { Recorder } from "../recorder.ts";

/** A client sends one request after the other. */
export interface Client {
  /** Performs one operation, with all requests that it takes. */
  act(): Promise<void>;
  /** Reads everything that the agent can see, after all other requests have ended. */
  look(): Promise<void>;
}

export interface ClientOptions {
  readonly agent: Agent;
  /** All agents, including the client's own. */
  readonly agents: readonly Agent[];
  readonly operator: Sender;
  readonly recorder: Recorder;
  readonly random: Random;
}

/** An action of a client, and how often the client does it, relative to the others. */
export type Action = readonly [weight: number, act: () => Promise<unknown>];

export function pickAction(actions: readonly Action[], random: Random): () => Promise<unknown> {
  let left = random.below(actions.reduce((sum, [weight]) => sum + weight, 0));
  return actions.find(([weight]) => (left -= weight) < 0)![1];
}

/** Sends a request as the client's agent. */
export function askAs(
  { agent, recorder }: ClientOptions,
  operation: string,
  request: JsonObject,
): Promise<Entry> {
  return recorder.ask({ operation, agent: agent.id, as: agent, request });
}
