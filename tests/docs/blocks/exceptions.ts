/** Blocks and commands of the documentation that no test here can run, each with the reason. */
export interface Exception {
  /** The id of a block, or a command from a sentence. */
  readonly what: string;
  /** The block's beginning, so that another block with this id does not inherit the exception. */
  readonly begins: string;
  readonly reason: string;
}

export const BLOCK_EXCEPTIONS: readonly Exception[] = [
  {
    what: "AGENTS.md, Commands, 1",
    begins: "npx -y deno@2.9.6 task start",
    reason:
      "The first command is run for the README. The others run the tests, or write files here.",
  },
  {
    what: "CONTRIBUTING.md, Working on this, 1",
    begins: "npx -y deno@2.9.6 task start",
    reason: "The first command is run for the README. The other two run the tests, this one too.",
  },
  {
    what: "CONTRIBUTING.md, Changing the schema, 1",
    begins: "npx supabase@3.1.0 db schema declarative sync",
    reason: "The CLI builds a database of the migrations in a Docker container.",
  },
  {
    what: "docs/mesh.md, A Linux host, 1",
    begins: "agentfiles login --url https://<ref>.supabase.co\nsudo agentfiles mesh up --install",
    reason:
      "It changes this machine. tests/mesh_up/life/use_test.ts runs both commands on two hosts.",
  },
  ...["agent-peer", "cli", "local", "operator"].map((name) => ({
    what: `packages/${name}/README.md, Tests, 1`,
    begins: `cd packages/${name}\nnpx -y deno@2.9.6 task test`,
    reason: "It runs the tests of the package, which the tasks of the project run, too.",
  })),
  {
    what: "docs/development.md, With supabase start, 2",
    begins: "npx supabase@3.1.0 start",
    reason: "The CLI's own stack runs in Docker containers.",
  },
  {
    what: "docs/monitoring.md, The log, 2",
    begins: "-- one request",
    reason: "The Logs Explorer of hosted projects runs it; the jq below it says the same.",
  },
  {
    what: "docs/monitoring.md, The log, 4",
    begins: "-- one artifact",
    reason: "The Logs Explorer of hosted projects runs it; the jq below it says the same.",
  },
  {
    what: "docs/monitoring.md, The log, 6",
    begins: "-- refusals by agent",
    reason: "The Logs Explorer of hosted projects runs it; the jq below it says the same.",
  },
  {
    what: "docs/monitoring.md, The log, 8",
    begins: "-- slow operations",
    reason: "The Logs Explorer of hosted projects runs it; the jq below it says the same.",
  },
  {
    what: "docs/monitoring.md, The log, 10",
    begins: "-- failures",
    reason: "The Logs Explorer of hosted projects runs it; the jq below it says the same.",
  },
  {
    what: "docs/fleets.md, GitHub Actions, 2",
    begins: "permissions:",
    reason: "GitHub runs it. The commands in it are run by the tests of `agentfiles login`.",
  },
  {
    what: "docs/fleets.md, GitLab, 2",
    begins: "hand-over:",
    reason: "GitLab runs it. The commands in it are run by the tests of `agentfiles login`.",
  },
  {
    what: "docs/fleets.md, Kubernetes, 2",
    begins: "spec:",
    reason: "A cluster runs it. The commands in it are run by the tests of `agentfiles login`.",
  },
  {
    what: "docs/relay.md, Your own server, 1",
    begins: "apt-get install",
    reason: "It installs packages, and gets a certificate of a name that the reader has.",
  },
  {
    what: "docs/relay.md, Your own server, 4",
    begins: "[Service]",
    reason: "systemd reads it. A test starts the server with the same user and capability.",
  },
  {
    what: "docs/relay.md, End relayed addresses, 2",
    begins: "[Unit]",
    reason: "systemd reads it. A test runs the program that it starts.",
  },
  {
    what: "docs/runbook.md, A removed agent uses the relay, 1",
    begins: "relay-end 10.213.0.1",
    reason: "It runs on the relay: tests/tunnel/relay_end_test.ts runs the same program.",
  },
  {
    what: "docs/relay.md, Your own server, 6",
    begins: "systemctl daemon-reload",
    reason: "It starts services of a machine with systemd.",
  },
  {
    what: "docs/sandbox.md, Libraries, 1",
    begins: "const database = new pg.Client({",
    reason: "The libraries are no packages of ours. tests/sandbox/drivers/ does this with each.",
  },
];

/** Blocks that tests in other folders run. */
export const RUN_ELSEWHERE: readonly { readonly what: string; readonly test: string }[] = [
  ...["For any program", "Flow log", "Why a port is not reached"].map((heading) => ({
    what: `docs/sandbox.md, ${heading}, 1`,
    test: "tests/sandbox/command_line_test.ts",
  })),
  { what: "docs/sandbox.md, UDP for programs, 1", test: "tests/sandbox/udp_test.ts" },
  { what: "docs/sandbox.md, Check the network, 1", test: "tests/paths/netcheck_test.ts" },
  {
    what: "docs/deployment.md, Check it, 2",
    test: "tests/deploy/hosted_runtime_test.ts",
  },
  {
    what: "docs/deployment.md, Take it down, 2",
    test: "tests/deploy/database/taken_names_test.ts",
  },
  ...["docs/backup.md, From a dump, 1", "docs/backup.md, From a dump, 2"]
    .map((what) => ({ what, test: "tests/long/restore/dump_test.ts" })),
  ...[
    "docs/backup.md, The record of endings, 1",
    "docs/backup.md, After a restore, 1",
    "docs/backup.md, After a restore, 2",
    "docs/retention.md, What this cannot see, 1",
  ].map((what) => ({ what, test: "tests/long/restore/exercise_test.ts" })),
  ...[
    "docs/relay.md, Your own server, 2",
    "docs/relay.md, Your own server, 3",
    "docs/relay.md, Your own server, 5",
    "docs/relay.md, Tell the functions, 1",
  ].map((what) => ({ what, test: "tests/tunnel/documented_relay_test.ts" })),
  {
    what: "docs/mesh.md, Limits on connections, 1",
    test: "tests/mesh_up/tunnel/limits_test.ts",
  },
  {
    what: "docs/relay.md, End relayed addresses, 1",
    test: "tests/tunnel/relay_end_test.ts",
  },
  {
    what: "docs/operating.md, Without a clone, 1",
    test: "tests/long/release_test.ts",
  },
  {
    what: "docs/command-line.md, Install, 1",
    test: "tests/long/release_test.ts",
  },
  ...[
    "docs/sandbox.md, Build it, 1",
    "docs/sandbox.md, Build it, 2",
  ].map((what) => ({ what, test: "tests/long/release_anywhere_test.ts" })),
  {
    what: "packages/agent-files/README.md, Proxies, 1",
    test: "tests/long/runtimes/proxy_test.ts",
  },
  {
    what: "clients/python/README.md, agent_files, 1",
    test: "clients/python/tests/package_test.ts",
  },
  ...[
    "google-adk",
    "a2a",
    "openai-agents",
    "pydantic-ai",
    "claude-agent-sdk",
    "A run for each task",
    "langgraph",
    "A graph that waits for a file",
    "mcp",
  ].map((section) => ({
    what: `docs/frameworks.md, ${section}, 1`,
    test: "tests/long/frameworks/documented_test.ts",
  })),
  ...[
    "TypeScript",
    "ai",
    "@openai/agents",
    "@mastra/core",
    "@langchain/langgraph",
    "@google/adk",
  ].map((section) => ({
    what: `docs/frameworks.md, ${section}, 1`,
    test: "tests/long/frameworks/typescript_test.ts",
  })),
  {
    what: "docs/frameworks.md, By paths, 1",
    test: "tests/long/frameworks/typescript_stdio_test.ts",
  },
  {
    what: "clients/python/README.md, The mesh, 1",
    test: "clients/python/tests/mesh_test.ts",
  },
];

/** Commands within sentences that are neither a task nor one of the Supabase CLI. */
export const COMMAND_EXCEPTIONS: readonly Omit<Exception, "begins">[] = [
  {
    what: "deno install",
    reason: "It pins packages again, from the registry. A test would pin what is newest by then.",
  },
];
