/** A language model's host that runs `agentfiles mcp` for the files of one folder. */
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { StdioClientTransport as OldStdioTransport } from "@modelcontextprotocol/sdk/client/stdio";
import { join } from "node:path";
import { PROJECT } from "../../../local/project.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import {
  connectBy,
  type Dialect,
  type McpClient,
} from "../../../../tests/conformance/mcp/mcp_client.ts";

const BY_DENO: readonly [string, ...string[]] = [
  Deno.execPath(),
  "run",
  "--allow-all",
  `--config=${join(PROJECT, "packages/cli/deno.json")}`,
  join(PROJECT, "packages/cli/main.ts"),
];

type Named = Pick<Agent, "id" | "key">;

interface HostOptions {
  readonly dialect?: Dialect;
  /** The service. Default: the local stack. */
  readonly url?: string;
  /** The program that runs the command line. Default: this Deno. */
  readonly command?: readonly [string, ...string[]];
}

/** How a host runs the server for an agent. */
export function serverOf(
  agent: Named,
  url: string,
  [program, ...args]: readonly [string, ...string[]] = BY_DENO,
) {
  return {
    command: program,
    args: [...args, "mcp"],
    env: { ...Deno.env.toObject(), AGENT_URL: url, AGENT_KEY: agent.key, AGENT_ID: "" },
  };
}

export class AgentHost implements AsyncDisposable {
  constructor(readonly agent: Named, readonly folder: string, readonly client: McpClient) {}

  /** The host of a new agent, in an empty folder. */
  static async of(name: string, options: HostOptions = {}): Promise<AgentHost> {
    return await AgentHost.for(await createAgent(name), options);
  }

  static async for(
    agent: Named,
    { dialect = "2026-07-28", url = SUPABASE_URL, command = BY_DENO }: HostOptions = {},
  ): Promise<AgentHost> {
    const folder = await Deno.realPath(await Deno.makeTempDir());
    const server = { ...serverOf(agent, url, command), cwd: folder };
    const client = await connectBy(dialect, {
      transport: () => new StdioClientTransport(server),
      oldTransport: () => new OldStdioTransport(server),
    });
    return new AgentHost(agent, folder, client);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
    await Deno.remove(this.folder, { recursive: true });
  }
}
