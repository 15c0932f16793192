/** The official MCP clients. They use the commands in the tools' answers. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { connect, type Dialect } from "../../../conformance/mcp/mcp_client.ts";
import { succeed } from "../../runtimes/tools.ts";
import { content, type Given, type Outcome } from "../hand_over.ts";

interface ByCommand {
  readonly artifact_id: string;
  readonly command: string;
}

interface Inbox {
  readonly grants: readonly { readonly artifact_id: string; readonly from_agent: string }[];
}

/** The module of each dialect's client. */
const MODULES = {
  "SDK 1.x": "@modelcontextprotocol/sdk/client",
  "2026-07-28": "@modelcontextprotocol/client",
} as const satisfies Partial<Record<Dialect, string>>;

export async function byMcp(
  dialect: keyof typeof MODULES,
  { planner, builder, closedId, file }: Given,
): Promise<Outcome> {
  const connectAs = ({ key }: Given["planner"]) =>
    connect("agent-artifacts", { headers: { authorization: `Bearer ${key}` } }, { dialect });
  await using mine = await connectAs(planner);
  await using theirs = await connectAs(builder);
  const folder = await Deno.makeTempDir();
  try {
    await writeFile(join(folder, "plan.bin"), content());
    const put = { key: file.key, size: file.size, file: "plan.bin" };
    const { artifact_id, command } = await mine.succeed<ByCommand>("put", put);
    await succeed("sh", ["-c", command], { cwd: folder });
    const sha256 = createHash("sha256").update(content()).digest("hex");
    await mine.succeed("commit", { artifact_id, sha256, to: [builder.id] });

    const { grants: [grant] } = await theirs.succeed<Inbox>("inbox");
    const get = { artifact_id: grant!.artifact_id, file: "received.bin" };
    const got = await theirs.succeed<ByCommand>("get", get);
    await succeed("sh", ["-c", got.command], { cwd: folder });
    const received = await readFile(join(folder, "received.bin"));

    const { isError, body } = await theirs.call<{ error: { code: string } }>("get", {
      artifact_id: closedId,
    });
    assert.equal(isError, true);
    return {
      version: await versionOf(MODULES[dialect]),
      sha256: createHash("sha256").update(received).digest("hex"),
      from: grant!.from_agent,
      refused: body.error.code,
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** The version in the package.json of an imported module: these clients do not report theirs. */
async function versionOf(specifier: string): Promise<string> {
  for (let url = new URL(".", import.meta.resolve(specifier));; url = new URL("..", url)) {
    const text = await readFile(new URL("package.json", url), "utf8").catch(() => "{}");
    const { version } = JSON.parse(text);
    if (version !== undefined) return version;
    assert.notEqual(url.pathname, "/", specifier);
  }
}
