import assert from "node:assert/strict";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const README = new URL("../../README.md", import.meta.url);
const PROJECT = dirname(fileURLToPath(README));

/** The `sh` blocks of a section of the README, joined. */
function shellOf(markdown: string, heading: string): string {
  const section = markdown.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  const blocks = Array.from(section?.matchAll(/```sh\n(.*?)```/gs) ?? [], ([, block]) => block);
  assert.ok(blocks.length > 0, `no commands under "${heading}"`);
  return blocks.join("\n");
}

Deno.test("README, Hand over a file: pasted as it stands, it ends with the same bytes, and with a refusal", async () => {
  const transcript = shellOf(await Deno.readTextFile(README), "Hand over a file");
  const folder = await Deno.makeTempDir();
  try {
    // The tasks are the clone's; the files that the transcript writes go elsewhere. Agents are shared by all tests of
    // a run, so planner and builder get keys here and nothing else.
    const script = transcript.replaceAll(
      /npx -y deno@\S+ task/g,
      `'${Deno.execPath()}' task --quiet --cwd '${PROJECT}'`,
    );
    const { code, stdout, stderr } = await new Deno.Command("bash", {
      args: ["-e", "-c", script],
      cwd: folder,
    }).output();
    const printed = new TextDecoder().decode(stdout);
    assert.equal(code, 0, printed + new TextDecoder().decode(stderr));
    assert.ok(printed.includes("received what was sent"), printed);
    assert.equal(
      printed.match(/First the cellar, then the roof\./g)?.length,
      1,
      "what /fetch led to",
    );
    assert.ok(printed.includes('"revoked":1'), printed);
    assert.ok(printed.trimEnd().includes('"code":"artifact_not_found"'), printed);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
