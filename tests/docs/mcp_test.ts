import assert from "node:assert/strict";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "smol-toml";
import { type Artifact, artifactTest, sha256 } from "../conformance/artifacts.ts";
import type { Agent } from "../conformance/client.ts";
import { AgentHost } from "../../packages/cli/tests/mcp/agent_host.ts";
import { connect, type McpClient } from "../conformance/mcp/mcp_client.ts";
import { documentedBlock } from "./blocks/documentation.ts";
import { filledIn } from "./blocks/placeholders.ts";
import { Terminal } from "./blocks/terminal.ts";

/** The values in a host's configuration. */
interface Server {
  readonly url: string;
  readonly authorization: string;
}

/** A call that the skill shows. */
interface ShownCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, unknown>>;
}

async function assertConnects({ url, authorization }: Server): Promise<void> {
  await using client = await connect("agent-artifacts", { headers: { authorization } }, { url });
  assert.ok((await client.sdk.listTools()).tools.length > 0);
}

function shownCall(block: string): ShownCall {
  return JSON.parse(block);
}

/** Calls a tool as the skill shows, with some arguments replaced. */
function callShown<Body>(
  client: McpClient,
  shown: ShownCall,
  replaced: object = {},
): Promise<Body> {
  return client.succeed<Body>(shown.tool, { ...shown.arguments, ...replaced });
}

/** Installs a stand-in for Claude Code that prints its arguments. */
async function installClaude({ home }: Terminal): Promise<void> {
  const claude = join(home, "bin", "claude");
  await writeFile(claude, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
  await chmod(claude, 0o755);
}

artifactTest(
  "docs/mcp.md, Claude Code → what `claude mcp add` is given leads to the tools",
  async ({ planner }) => {
    await using terminal = await Terminal.open({ environment: { AGENT_KEY: planner.key } });
    await installClaude(terminal);
    const block = filledIn(await documentedBlock("docs/mcp.md, Add it to a host, 1"));
    const words = (await terminal.paste(block)).trim().split("\n");
    const [url = "", option, header = ""] = words.slice(7);
    assert.deepEqual(words.slice(0, 7), [
      ..."mcp add --scope project --transport http agent-artifacts".split(" "),
    ]);
    assert.equal(option, "--header");
    // The host itself replaces the variable from its environment.
    assert.equal(header, "Authorization: Bearer ${AGENT_KEY}");
    await assertConnects({ url, authorization: `Bearer ${planner.key}` });
  },
);

artifactTest("docs/mcp.md, Codex → its configuration leads to the tools", async ({ planner }) => {
  const text = filledIn(await documentedBlock("docs/mcp.md, Add it to a host, 2"));
  const { mcp_servers } = parse(text) as unknown as {
    mcp_servers: Record<string, { url: string; bearer_token_env_var: string }>;
  };
  const { url, bearer_token_env_var } = mcp_servers["agent-artifacts"]!;
  assert.equal(bearer_token_env_var, "AGENT_KEY");
  await assertConnects({ url, authorization: `Bearer ${planner.key}` });
});

artifactTest("docs/mcp.md, Cursor → its configuration leads to the tools", async ({ planner }) => {
  const text = filledIn(await documentedBlock("docs/mcp.md, Add it to a host, 3"));
  const servers = JSON.parse(text.replace("${env:AGENT_KEY}", planner.key));
  const { url, headers } = servers["agent-artifacts"];
  await assertConnects({ url, authorization: headers.Authorization });
});

artifactTest("docs/mcp.md, VS Code → its configuration leads to the tools", async ({ planner }) => {
  const text = filledIn(await documentedBlock("docs/mcp.md, Add it to a host, 4"));
  const { servers, inputs: [input] } = JSON.parse(text);
  assert.equal(input.password, true);
  const { type, url, headers } = servers["agent-artifacts"];
  assert.equal(type, "http");
  const authorization = headers.Authorization.replace(`\${input:${input.id}}`, planner.key);
  await assertConnects({ url, authorization });
});

Deno.test("docs/mcp.md, by paths → each host is told to run `agentfiles mcp` with a root", async () => {
  await using terminal = await Terminal.open();
  await installClaude(terminal);
  const printed = await terminal.paste(
    await documentedBlock("docs/mcp.md, By paths, on the agent's own machine, 1"),
  );
  const [, , , separator, ...command] = printed.trim().split("\n");
  assert.equal(separator, "--");
  assert.deepEqual(command, ["agentfiles", "mcp", "--root", join(terminal.home, "work")]);

  const inCodex = parse(
    await documentedBlock("docs/mcp.md, By paths, on the agent's own machine, 2"),
  ) as { mcp_servers: { agentfiles: object } };
  const inCursor = JSON.parse(
    await documentedBlock("docs/mcp.md, By paths, on the agent's own machine, 3"),
  );
  const told = { command: "agentfiles", args: ["mcp", "--root", "/home/me/work"] };
  assert.deepEqual([{ ...inCodex.mcp_servers.agentfiles }, inCursor.agentfiles], [told, told]);
});

Deno.test("SKILL.md, a file by its path → put, waited for, saved", async () => {
  const [put, inbox, get] = [
    shownCall(
      await documentedBlock("docs/skills/agent-artifacts/SKILL.md, Where you have `put_file`, 1"),
    ),
    shownCall(
      await documentedBlock("docs/skills/agent-artifacts/SKILL.md, Where you have `put_file`, 2"),
    ),
    shownCall(
      await documentedBlock("docs/skills/agent-artifacts/SKILL.md, Where you have `put_file`, 3"),
    ),
  ];
  await using planner = await AgentHost.of("planner");
  await using builder = await AgentHost.of("builder");
  await writeFile(planner.path("report.pdf"), "report");
  const { latest: after } = await builder.client.succeed<{ latest: string }>("inbox");
  const waiting = callShown<{ grants: { artifact_id: string }[] }>(builder.client, inbox, {
    after,
  });
  await callShown(planner.client, put, { to: [builder.agent.id] });
  const { grants: [grant] } = await waiting;
  await callShown(builder.client, get, { artifact_id: grant!.artifact_id });
  assert.equal(await readFile(builder.path("received/july.pdf"), "utf8"), "report");
});

artifactTest(
  "SKILL.md, a small text → put, and read by who was granted it",
  async ({ planner, builder }) => {
    const put = shownCall(
      await documentedBlock(
        "docs/skills/agent-artifacts/SKILL.md, Hand over a small text, 1",
      ),
    );
    const inline = shownCall(
      await documentedBlock("docs/skills/agent-artifacts/SKILL.md, Receive, 2"),
    );
    await using owner = await connect("agent-artifacts", planner);
    await using reader = await connect("agent-artifacts", builder);
    const to = [builder.id];
    const { artifact_id } = await callShown<Artifact>(owner, put, { to });
    await grantAsShown(owner, { artifact_id, to_agent: builder.id });
    const { text } = await callShown<{ text: string }>(reader, inline, { artifact_id });
    assert.equal(text, put.arguments["text"]);
    await owner.succeed("delete", { artifact_id });
  },
);

artifactTest(
  "SKILL.md, a file → put, uploaded, committed for another agent, found, downloaded and verified",
  async ({ planner, builder }) => {
    const measure = await documentedBlock(
      "docs/skills/agent-artifacts/SKILL.md, Hand over a file, 1",
    );
    const put = shownCall(
      await documentedBlock("docs/skills/agent-artifacts/SKILL.md, Hand over a file, 2"),
    );
    const commit = shownCall(
      await documentedBlock("docs/skills/agent-artifacts/SKILL.md, Hand over a file, 3"),
    );
    const inbox = shownCall(
      await documentedBlock("docs/skills/agent-artifacts/SKILL.md, Receive, 1"),
    );
    const get = shownCall(
      await documentedBlock("docs/skills/agent-artifacts/SKILL.md, Receive, 3"),
    );
    const bytes = new Uint8Array(48_213).fill(7);
    await using sandbox = await Terminal.open();
    await writeFile(join(sandbox.home, "report.pdf"), bytes);
    const [size, digest] = (await sandbox.paste(measure)).match(/\w+/g)!;
    assert.equal(Number(size), put.arguments["size"]);
    assert.equal(digest, sha256(bytes));

    await using owner = await connect("agent-artifacts", planner);
    await using reader = await connect("agent-artifacts", builder);
    const { artifact_id, command } = await callShown<{ artifact_id: string; command: string }>(
      owner,
      put,
    );
    await sandbox.paste(command);
    const committed = await callShown<Artifact>(owner, commit, {
      artifact_id,
      sha256: digest,
      to: [builder.id],
    });
    assert.equal(committed.state, "committed");

    const { grants } = await callShown<{ grants: { artifact_id: string }[] }>(reader, inbox);
    assert.deepEqual(grants.map((grant) => grant.artifact_id), [artifact_id]);
    const received = await callShown<{ command: string }>(reader, get, { artifact_id });
    assert.equal((await sandbox.paste(received.command)).trim(), "july.pdf: OK");
    await sandbox.paste("cmp report.pdf july.pdf");
    await owner.succeed("delete", { artifact_id });
  },
);

artifactTest(
  "SKILL.md, a service → the rule is asked for, then active",
  async ({ planner, builder }) => {
    const put = shownCall(
      await documentedBlock(
        "docs/skills/agent-artifacts/SKILL.md, Reach another agent's service, 1",
      ),
    );
    const rule = { from_agent: builder.id, to_agent: planner.id };
    const active = async (agent: Agent) => {
      await using client = await connect("agent-mesh", agent);
      return (await callShown<{ active: boolean }>(client, put, rule)).active;
    };
    assert.deepEqual([await active(builder), await active(planner)], [false, true]);
    await using client = await connect("agent-mesh", builder);
    await client.succeed("acl_revoke", { ...put.arguments, ...rule });
  },
);

async function grantAsShown(owner: McpClient, replaced: object): Promise<void> {
  const grant = shownCall(
    await documentedBlock("docs/skills/agent-artifacts/SKILL.md, Hand over a file, 4"),
  );
  await callShown(owner, grant, replaced);
}
