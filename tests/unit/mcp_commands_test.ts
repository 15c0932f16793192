/** The commands that a model runs in its sandbox, with names that other agents have chosen. */
import assert from "node:assert/strict";
import {
  downloadCommand,
  sandboxPath,
  uploadCommand,
} from "../../supabase/functions/agent-artifacts/mcp/shell.ts";

const SHA256 = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";

const HOSTILE = [
  "it's",
  "'; touch injected; '",
  "$(touch injected)",
  "`touch injected`",
  'a"b',
  "a b",
  "-",
  "--config",
  "!!",
  "é\u202e",
];

/** The words that curl and sha256sum are given when a shell runs `command`. */
async function wordsOf(command: string): Promise<string[]> {
  const directory = await Deno.makeTempDir();
  try {
    const programs = `curl() { printf 'curl\\n'; printf '%s\\n' "$@"; }
      sha256sum() { printf 'sha256sum\\n'; printf '%s\\n' "$@"; cat; }`;
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-c", `${programs}\n${command}`],
      cwd: directory,
    }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    assert.deepEqual(Array.from(Deno.readDirSync(directory)), [], command);
    return new TextDecoder().decode(stdout).trimEnd().split("\n");
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("commands with hostile file names and URLs → each is one word to curl, and no option", async () => {
  for (const name of HOSTILE) {
    const url = `https://project.supabase.co/object?token=t&download=${name}`;
    const file = name.startsWith("-") ? `./${name}` : name;
    assert.deepEqual(await wordsOf(uploadCommand(name, url)), [
      "curl",
      "-gsS",
      "--fail-with-body",
      "-T",
      file,
      url,
    ]);
    assert.deepEqual(await wordsOf(downloadCommand({ url, sha256: SHA256 }, name)), [
      "curl",
      "-sSf",
      "-o",
      file,
      "https://project.supabase.co/object?token=t&download=",
      "sha256sum",
      "-c",
      `${SHA256}  ${file}`,
    ]);
  }
});

Deno.test("the real curl with brackets and braces in a name → it sends that file", async () => {
  const received: string[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    received.push(await request.text());
    return new Response();
  });
  const directory = await Deno.makeTempDir();
  const names = ["report[1].txt", "data{a,b}.csv"];
  try {
    for (const name of names) {
      await Deno.writeTextFile(`${directory}/${name}`, name);
      const url = `http://127.0.0.1:${server.addr.port}/`;
      const { code } = await new Deno.Command("sh", {
        args: ["-c", uploadCommand(name, url)],
        cwd: directory,
      }).output();
      assert.equal(code, 0, name);
    }
    assert.deepEqual(received, names);
  } finally {
    await server.shutdown();
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("the path of a file → any but one that sha256sum would write in a form of its own", () => {
  for (const path of HOSTILE) assert.equal(sandboxPath.safeParse(path).success, true, path);
  for (const path of ["", "a\nb", "a\\b", "a\0", "x".repeat(1025)]) {
    assert.equal(sandboxPath.safeParse(path).success, false, path);
  }
});
