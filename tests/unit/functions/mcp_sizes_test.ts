/** Hosts refuse an answer of a tool that has more than 25,000 tokens. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { listTool } from "../../../supabase/functions/agent-artifacts/mcp/list.ts";
import { netmapTool } from "../../../supabase/functions/agent-mesh/mcp/netmap.ts";
import { wgConfigTool } from "../../../supabase/functions/agent-mesh/mcp/wg_config.ts";
import type { ToolDefinition } from "../../../supabase/functions/_shared/operations/mcp/definition.ts";
import { pageOf as pageOfClient } from "../../../packages/cli/mcp/tools/mesh_tools.ts";

const MOST_TOKENS = 25_000;
const PEERS = 150;

const key = () => randomBytes(32).toString("base64");
const agents = Array.from({ length: PEERS }, (_, index) => `build-worker-eu-west-${index}`);

const report = {
  works: true,
  via: "direct",
  since: "2026-01-31T09:30:00.000Z",
  handshake_age_seconds: 42,
  endpoint: "203.0.113.7:51820",
  reported_at: "2026-01-31T09:30:00.000Z",
};

const netmap = {
  agent_id: "planner",
  config_version: 300,
  peers: ["planner", ...agents].map((agent_id, index) => ({
    agent_id,
    name: agent_id,
    self: index === 0,
    online: true,
    pubkey: key(),
    endpoint: "203.0.113.7:51820",
    endpoints: ["203.0.113.7:51820"],
    addresses: [`10.213.0.${index}`, `fd5e:8a1b:6c2d::${index.toString(16)}`],
    path: { reported_by_self: report, reported_by_peer: report },
    psk_version: 1,
  })),
  acls: agents.flatMap((agent) => [
    { from_agent: "planner", to_agent: agent, port: 443, proto: "tcp" },
    { from_agent: agent, to_agent: "planner", port: 5432, proto: "tcp" },
  ]),
  acl_requests: agents.map((agent) => ({
    from_agent: agent,
    to_agent: "planner",
    port: 22,
    proto: "tcp",
    waiting_for: "planner",
  })),
};

const config = [
  "[Interface]\nAddress = 10.213.0.1/16\n",
  ...agents.map((agent) =>
    `[Peer]\n# ${agent}\nPublicKey = ${key()}\nPresharedKey = ${key()}\n` +
    "AllowedIPs = 10.213.0.7/32, fd5e:8a1b:6c2d::7/128\nEndpoint = 203.0.113.7:51820\n" +
    "PersistentKeepalive = 25\n"
  ),
  ...agents.map((agent) => `#nft ip saddr 10.213.0.7 tcp dport 443 accept # ${agent}`),
].join("\n");

const artifacts = Array.from({ length: 100 }, (_, index) => ({
  artifact_id: `art_${randomBytes(16).toString("hex")}`,
  agent_id: "planner",
  key: `reports/2026/europe-west/summary-of-run-${index}.pdf`,
  mime: "application/pdf",
  size: 48_213,
  ttl_days: 7,
  sha256: randomBytes(32).toString("hex"),
  state: "committed",
  created_at: "2026-01-31T09:30:00.000Z",
  committed_at: "2026-01-31T09:30:00.000Z",
  expires_at: "2026-02-07T09:30:00.000Z",
}));

/** The tokens of a tool's answer, if its operation answers with `operation`. */
async function tokensOf(tool: ToolDefinition, operation: object, given: object): Promise<number> {
  const run = <Answer>() => Promise.resolve(operation as Answer);
  const mcp = { run, urlOf: (path: string) => path, settings: {} as never };
  const added = tool.additions!.parse(given) as Record<string, unknown>;
  const { body } = await tool.call!(mcp, { given: {}, added });
  return encode(JSON.stringify(body)).length;
}

Deno.test(`netmap of ${PEERS} peers → at most ${MOST_TOKENS} tokens, for every request`, async () => {
  assert.ok(encode(JSON.stringify(netmap)).length > MOST_TOKENS);
  for (const given of [{}, { limit: PEERS }, { with_agent: agents[7] }]) {
    const tokens = await tokensOf(netmapTool, netmap, given);
    assert.ok(tokens < MOST_TOKENS, `${tokens} tokens`);
  }
  const local = encode(JSON.stringify(pageOfClient(netmap as never, { limit: PEERS, after: "" })));
  assert.ok(local.length < MOST_TOKENS, `${local.length} tokens`);
});

Deno.test(`wg_config of ${PEERS} peers → at most ${MOST_TOKENS} tokens, with its PSKs too`, async () => {
  const answer = { agent_id: "planner", config_version: 300, config };
  for (const given of [{}, { show_psks: true }, { with_agent: agents[7] }]) {
    const tokens = await tokensOf(wgConfigTool, answer, given);
    assert.ok(tokens < MOST_TOKENS / 2, `${tokens} tokens`);
  }
});

Deno.test("list of a page of 100 files → at most half of that", async () => {
  const tokens = await tokensOf(listTool, { artifacts, next_cursor: null }, {});
  assert.ok(tokens < MOST_TOKENS / 2, `${tokens} tokens`);
});
