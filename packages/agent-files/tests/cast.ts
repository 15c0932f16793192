/** Agents with clients, for the tests of the clients. */
import { AgentFiles, type ConnectionOptions } from "../index.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { withStackDatabase } from "../../../tests/database/connection.ts";

export interface ClientOfAgent {
  readonly agent: Agent;
  readonly files: AgentFiles;
}

/** A new agent and its client for files. */
export async function agentFiles(
  name: string,
  options: Partial<ConnectionOptions> = {},
): Promise<ClientOfAgent> {
  const agent = await createAgent(name);
  return { agent, files: filesOf(agent, options) };
}

export function filesOf(
  agent: Pick<Agent, "id" | "key">,
  options: Partial<ConnectionOptions> = {},
): AgentFiles {
  return new AgentFiles({ url: SUPABASE_URL, key: agent.key, agentId: agent.id, ...options });
}

/** Every key that the agent has registered a file under, committed or not. */
export async function registeredKeys({ id }: Pick<Agent, "id">): Promise<string[]> {
  const rows = await withStackDatabase((sql) =>
    sql<{ key: string }[]>`select key from artifacts.artifacts where agent_id = ${id} order by key`
  );
  return rows.map(({ key }) => key);
}

/** Bytes in a long pattern, so that a misplaced part is noticed. */
export function bytesOf(size: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(size).map((_, index) => index * 31 + (index >> 8) * 7);
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  return await Array.fromAsync(items);
}

export async function bytesIn(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(
    await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer(),
  );
}
