import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { PROJECT } from "../../packages/local/project.ts";

const MAX_COLUMNS = 100;
/** A line that holds nothing but a comment; a URL may make it longer. */
const COMMENT = /^\s*(?:\/\/|\/?\*|--|#(?!!))/;

Deno.test("every comment that has its line to itself → at most 100 columns", async () => {
  const { stdout } = await promisify(execFile)(
    "git",
    [
      "ls-files",
      "--cached",
      "--others",
      "--exclude-standard",
      "*.ts",
      "*.sql",
      "*.sh",
      "*.toml",
      ".ci/run",
      // Generated from the OpenAPI documents, whose descriptions are long lines.
      ":!packages/agent-files/contract/artifacts.ts",
      ":!packages/agent-files/contract/mesh.ts",
    ],
    { cwd: PROJECT, maxBuffer: 2 ** 24 },
  );
  const files = stdout.split("\n").filter((file) => file !== "");
  assert.ok(files.length > 300);
  const tooLong: string[] = [];
  for (const file of files) {
    const lines = (await readFile(join(PROJECT, file), "utf8").catch(() => "")).split("\n");
    for (const [index, line] of lines.entries()) {
      if (COMMENT.test(line) && line.length > MAX_COLUMNS && !line.includes("://")) {
        tooLong.push(`${file}:${index + 1} has ${line.length}`);
      }
    }
  }
  assert.deepEqual(tooLong, []);
});
