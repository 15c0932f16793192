/** The checks that `.github/workflows/release.yml` runs before it publishes anything. */
import assert from "node:assert/strict";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";

const SCRIPT = "dev/release/require_releasable.sh";
const VERSIONED = {
  "packages/agent-files/package.json": '{"version": "1.2.3"}',
  "clients/python/pyproject.toml": 'version = "1.2.3"',
  "supabase/functions/_shared/request/version.ts": 'export const VERSION = "1.2.3";',
};

Deno.test("a tree with a licence, whose parts all have the tag's version → can be released", async () => {
  assert.deepEqual(await ask({ ...VERSIONED, LICENSE: "Do what you like." }, "v1.2.3"), {
    code: 0,
    output: "",
    errors: "",
  });
});

Deno.test("no licence, another tag, or another version in one part → refused, and each is named", async () => {
  const whole = { ...VERSIONED, LICENSE: "Do what you like." };
  const { LICENSE: _, ...withoutLicence } = whole;
  const refusals: [files: Record<string, string>, tag: string, reasons: RegExp[]][] = [
    [withoutLicence, "v1.2.3", [/^There is no LICENSE file\./]],
    [{ ...whole, LICENSE: "" }, "v1.2.3", [/^There is no LICENSE file\./]],
    [whole, "v1.2.4", Object.keys(VERSIONED).map((file) => new RegExp(`^${file} does not have`))],
    [whole, "nightly", [/^The tag nightly/, /package\.json/, /pyproject/, /version\.ts/]],
    ...Object.keys(VERSIONED).map((file): [Record<string, string>, string, RegExp[]] => [
      { ...whole, [file]: VERSIONED[file as keyof typeof VERSIONED].replace("1.2.3", "1.2.30") },
      "v1.2.3",
      [new RegExp(`^${file} does not have the version 1\\.2\\.3\\.$`)],
    ]),
  ];
  for (const [files, tag, reasons] of refusals) {
    const { code, errors } = await ask(files, tag);
    assert.equal(code, 1);
    const lines = errors.trimEnd().split("\n");
    assert.equal(lines.length, reasons.length, errors);
    for (const [index, reason] of reasons.entries()) assert.match(lines[index]!, reason);
  }
});

Deno.test("this tree → the package, the wheel and the functions have one version", async () => {
  const read = (file: string) => readFile(join(PROJECT, file), "utf8");
  const version = /VERSION = "(.*)"/.exec(
    await read("supabase/functions/_shared/request/version.ts"),
  )![1]!;
  const expected = version === "unreleased" ? "0.0.0" : version;
  assert.equal(JSON.parse(await read("packages/agent-files/package.json")).version, expected);
  assert.match(
    await read("clients/python/pyproject.toml"),
    new RegExp(`^version = "${expected}"$`, "m"),
  );
});

async function ask(files: Record<string, string>, tag: string) {
  const folder = await Deno.makeTempDir();
  try {
    for (const [file, content] of Object.entries(files)) {
      await mkdir(dirname(join(folder, file)), { recursive: true });
      await writeFile(join(folder, file), content);
    }
    return await runProgram(join(PROJECT, SCRIPT), { args: [tag], cwd: folder });
  } finally {
    await rm(folder, { recursive: true });
  }
}
