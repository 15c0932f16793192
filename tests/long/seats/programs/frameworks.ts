/** The MCP clients of TypeScript frameworks. They use the commands in the tools' answers. */
import { runAgent, type TypeScriptFramework, versionOf } from "../../frameworks/typescript.ts";
import assert from "node:assert/strict";
import type { Given, Outcome } from "../hand_over.ts";

const HAND_OVER = `
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "./clients.mjs";

const [, , framework, text] = process.argv;
const { url, planner, builder, closedId, file } = JSON.parse(text);
const shell = (command) => execFileSync("sh", ["-c", command]);
const digestOf = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");

const mine = await connect(framework, { url, key: planner.key });
const bytes = new Uint8Array(file.size).map((_, index) => index * 31 + (index >> 8));
writeFileSync("plan.bin", bytes);
const put = await mine.call("put", { key: file.key, size: file.size, file: "plan.bin" });
shell(put.command);
const { artifact_id } = put;
await mine.call("commit", { artifact_id, sha256: digestOf("plan.bin"), to: [builder.id] });
await mine.close();

const theirs = await connect(framework, { url, key: builder.key });
const { grants: [grant] } = await theirs.call("inbox", {});
const got = await theirs.call("get", { artifact_id: grant.artifact_id, file: "received.bin" });
shell(got.command);
const refused = await theirs.call("get", { artifact_id: closedId });
await theirs.close();
writeFileSync("outcome.json", JSON.stringify({
  sha256: digestOf("received.bin"),
  from: grant.from_agent,
  refused: refused.error.code,
}));
`;

export async function byFramework(name: TypeScriptFramework, given: Given): Promise<Outcome> {
  const { code, output, errors } = await runAgent(HAND_OVER, {
    // Some frameworks print their log to the standard output.
    commands: 'node agent.mjs "$FRAMEWORK" "$GIVEN" >&2 && cat outcome.json',
    env: { FRAMEWORK: name, GIVEN: JSON.stringify(given) },
  });
  assert.equal(code, 0, errors);
  return { version: await versionOf(name), ...JSON.parse(output) };
}
