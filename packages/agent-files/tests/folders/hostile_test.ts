/** Every archive of the corpus, extracted by both clients: it writes nothing anywhere. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { extractTar } from "../../folders/extract.ts";
import { AgentError } from "../../index.ts";
import { runProgram } from "../../../local/processes/run_program.ts";
import { interpreter, PYTHON_ENVIRONMENT } from "../../../../clients/python/tests/interpreter.ts";
import { HOSTILE_TARS } from "./hostile_tars.ts";

/**
 * Calls `run` with a folder `inside` beside `outside/secret`, and checks that both are unchanged.
 */
async function withOutside(run: (inside: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "hostile-"));
  try {
    await mkdir(join(folder, "outside"));
    await mkdir(join(folder, "inside"));
    await writeFile(join(folder, "outside/secret"), "secret");
    await run(join(folder, "inside"));
    assert.deepEqual((await readdir(folder, { recursive: true })).sort(), [
      "inside",
      "outside",
      "outside/secret",
    ]);
    assert.equal(await readFile(join(folder, "outside/secret"), "utf8"), "secret");
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function* inChunks(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) {
    yield bytes.subarray(start, start + size);
  }
}

Deno.test("the corpus of hostile tars → at least 40 of them, each under a name of its own", () => {
  const names = HOSTILE_TARS.map(({ what, platform }) => `${what} ${platform}`);
  assert.ok(names.length >= 40, String(names.length));
  assert.equal(new Set(names).size, names.length);
});

for (const { what, bytes, platform = "linux", says, maxEntries } of HOSTILE_TARS) {
  Deno.test(`a tar with ${what} (${platform}) → archive_refused, and nothing is extracted`, () =>
    withOutside(async (inside) => {
      const options = { size: bytes.length, isPacked: false, platform, maxEntries };
      for (const chunk of [bytes.length || 1, 100]) {
        const extracting = extractTar(inChunks(bytes, chunk), join(inside, "target"), options);
        await assert.rejects(extracting, (error) => {
          assert.ok(error instanceof AgentError, String(error));
          assert.equal(error.code, "archive_refused");
          assert.match(error.message, says);
          return true;
        });
      }
    }));
}

Deno.test("Python: the same corpus → archive_refused each, with the same words, and nothing is extracted", () =>
  withOutside(async (inside) => {
    const corpus = await mkdtemp(join(tmpdir(), "corpus-"));
    try {
      for (const [index, { bytes }] of HOSTILE_TARS.entries()) {
        await writeFile(join(corpus, `${index}.tar`), bytes);
      }
      const settings = HOSTILE_TARS.map(({ platform = "linux", maxEntries = 200_000 }) => ({
        platform,
        maxEntries,
      }));
      await writeFile(join(corpus, "settings.json"), JSON.stringify(settings));
      const { code, output, errors } = await runProgram(await interpreter(), {
        args: ["-c", EXTRACT_ALL, corpus, join(inside, "target")],
        cwd: inside,
        env: PYTHON_ENVIRONMENT,
      });
      assert.equal(code, 0, errors);
      const said: [string, string][] = JSON.parse(output);
      assert.equal(said.length, HOSTILE_TARS.length);
      for (const [index, { what, says }] of HOSTILE_TARS.entries()) {
        assert.equal(said[index]![0], "archive_refused", what);
        assert.match(said[index]![1], says, what);
      }
    } finally {
      await rm(corpus, { recursive: true });
    }
  }));

const EXTRACT_ALL = `
import json, os, sys
from agent_files import AgentError
from agent_files._folders.extract import extract
corpus, target = sys.argv[1:]
said = []
for index, setting in enumerate(json.load(open(os.path.join(corpus, "settings.json")))):
    path = os.path.join(corpus, f"{index}.tar")
    try:
        with open(path, "rb") as file:
            extract(file, target, size=os.path.getsize(path), is_packed=False,
                    max_entries=setting["maxEntries"], platform=setting["platform"])
        said.append(["extracted", ""])
    except AgentError as error:
        said.append([error.code, str(error)])
    assert os.listdir(os.path.dirname(target)) == [], index
print(json.dumps(said))
`;
