import assert from "node:assert/strict";
import { join } from "node:path";
import { AgentHost } from "../../../packages/cli/tests/mcp/agent_host.ts";
import { connect, type McpClient } from "../../conformance/mcp/mcp_client.ts";
import { startFunction } from "../../../packages/local/stack/functions.ts";
import { THROW_AWAY } from "../../../packages/local/stack/options.ts";
import { type Stack, startStack } from "../../../packages/local/stack/stack.ts";
import { openStateDirectory, runTask } from "../../../packages/local/tests/stack/stack_process.ts";
import { installPackage } from "../installed_package.ts";

const SIZE = 60_000_000;

/** A file of SIZE in which every megabyte is different. */
async function writeLargeFile(path: string): Promise<void> {
  const block = new Uint8Array(1_000_000).map((_, index) => index * 31 + (index >> 8));
  const view = new DataView(block.buffer);
  using file = await Deno.open(path, { write: true, create: true });
  for (let number = 0; number < SIZE / block.length; number++) {
    view.setUint32(0, number);
    for (let written = 0; written < block.length;) {
      written += await file.write(block.subarray(written));
    }
  }
}

async function createKey(stack: Stack, agentId: string): Promise<string> {
  const { output } = await runTask("agentops agent create", {
    args: [agentId],
    environment: { SUPABASE_URL: stack.url, SUPABASE_SECRET_KEY: stack.secretKey },
  });
  return output;
}

/** A new agent of the stack: a host with its agent key and an empty sandbox. */
async function openContext(stack: Stack, agentId: string): Promise<Context> {
  const key = await createKey(stack, agentId);
  const folder = join(stack.stateDir, agentId);
  await Deno.mkdir(folder);
  const client = await connect(
    "agent-artifacts",
    { headers: { authorization: `Bearer ${key}` } },
    { url: `${stack.url}/functions/v1/agent-artifacts/mcp` },
  );
  return new Context(client, folder);
}

interface ByCommand {
  readonly artifact_id: string;
  readonly command: string;
}

interface Inbox {
  readonly latest: string;
  readonly grants: readonly { readonly artifact_id: string }[];
}

/** The context of one agent. It counts the characters that a model has read or written. */
class Context {
  characters = 0;

  constructor(readonly client: McpClient, readonly folder: string) {}

  /** Calls a tool as a model does. */
  async call<Body>(tool: string, given: object): Promise<Body> {
    const { isError, body, characters } = await this.client.call<Body>(tool, given);
    assert.equal(isError, false, JSON.stringify(body));
    this.characters += tool.length + JSON.stringify(given).length + characters;
    return body;
  }

  /** Runs a command in the agent's sandbox, unchanged. */
  async shell(command: string): Promise<string> {
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-c", command],
      cwd: this.folder,
    }).output();
    const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert.equal(code, 0, output);
    this.characters += command.length + output.length;
    return output;
  }
}

/** A stack of its own, whose function accepts files of this size. */
async function withStack(work: (stack: Stack) => Promise<void>): Promise<void> {
  await using state = await openStateDirectory();
  const stack = await startStack({
    ...THROW_AWAY,
    stateDir: state.path,
    functionNames: ["agent-artifacts"],
    storageSizeLimit: SIZE,
    startFunction: (options) =>
      startFunction({
        ...options,
        environment: { ...options.environment, ARTIFACTS_MAX_SIZE_BYTES: String(SIZE) },
      }),
  });
  try {
    await work(stack);
  } finally {
    await stack.stop();
  }
}

async function assertEqualFiles(one: string, other: string): Promise<void> {
  const { success } = await new Deno.Command("cmp", { args: [one, other] }).output();
  assert.equal(success, true);
}

Deno.test("60 MB from one agent to another, by tools and the commands that they answer → the same bytes; fewer than 3,000 characters in the contexts of both together", async () => {
  await withStack(async (stack) => {
    const [planner, builder] = [
      await openContext(stack, "planner"),
      await openContext(stack, "builder"),
    ];
    await using _planner = planner.client;
    await using _builder = builder.client;
    await writeLargeFile(join(planner.folder, "model.bin"));

    const [size, sha256] = (await planner.shell("wc -c <model.bin; sha256sum <model.bin"))
      .match(/\w+/g)!;
    const { artifact_id, command } = await planner.call<ByCommand>("put", {
      key: "models/model.bin",
      size: Number(size),
      file: "model.bin",
    });
    await planner.shell(command);
    await planner.call("commit", { artifact_id, sha256, to: ["builder"] });

    const { grants: [grant] } = await builder.call<Inbox>("inbox", {});
    const received = await builder.call<ByCommand>("get", {
      artifact_id: grant!.artifact_id,
      file: "model.bin",
    });
    assert.equal(await builder.shell(received.command), "model.bin: OK\n");

    await assertEqualFiles(join(planner.folder, "model.bin"), join(builder.folder, "model.bin"));
    console.log(`planner ${planner.characters}, builder ${builder.characters} characters`);
    assert.ok(planner.characters + builder.characters < 3000);
  });
});

Deno.test("60 MB from one agent to another by paths, without a shell, by the packed package on Node → the same bytes; fewer than 3,000 characters in both contexts together", async () => {
  await using project = await openStateDirectory();
  const command = ["node", await installPackage(project.path)] as const;
  await withStack(async (stack) => {
    const hostOf = async (id: string) =>
      await AgentHost.for({ id, key: await createKey(stack, id) }, { url: stack.url, command });
    await using plannerHost = await hostOf("planner");
    await using builderHost = await hostOf("builder");
    const planner = new Context(plannerHost.client, plannerHost.folder);
    const builder = new Context(builderHost.client, builderHost.folder);
    await writeLargeFile(join(planner.folder, "model.bin"));

    const { latest: after } = await builder.call<Inbox>("inbox", {});
    const [{ grants: [grant] }] = await Promise.all([
      builder.call<Inbox>("inbox", { after, wait_seconds: 50 }),
      planner.call("put_file", {
        path: "model.bin",
        key: "models/model.bin",
        to: ["builder"],
      }),
    ]);
    const { artifact_id } = grant!;
    await builder.call("get_file", { artifact_id, path: "models/model.bin" });

    await assertEqualFiles(
      join(planner.folder, "model.bin"),
      join(builder.folder, "models/model.bin"),
    );
    console.log(`planner ${planner.characters}, builder ${builder.characters} characters`);
    assert.ok(planner.characters + builder.characters < 3000);
  });
});
