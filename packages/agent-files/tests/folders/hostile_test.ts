/** Every archive of the corpus, extracted by both clients: it writes nothing anywhere. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { extractTar } from "../../folders/extract.ts";
import { AgentError } from "../../index.ts";
import { runProgram } from "../../../local/processes/run_program.ts";
import { interpreter, PYTHON_ENVIRONMENT } from "../../../../clients/python/tests/interpreter.ts";
import { HOSTILE_TARS, type HostileTar } from "./hostile_tars.ts";

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
    const said = await saidByPython(EXTRACT_ALL, HOSTILE_TARS, inside);
    for (const [index, { what, says }] of HOSTILE_TARS.entries()) {
      assert.equal(said[index]![0], "archive_refused", what);
      assert.match(said[index]![1]!, says, what);
    }
  }));

/**
 * What Python's `tarfile` extracts without an error, also with its filter `data`, and what is then
 * in the folder. Each is why the Python client reads tars by itself. None leads out of the folder:
 * the filter is missing in some versions that are in use.
 */
const TAKEN_BY_TARFILE: Readonly<Record<string, readonly string[]>> = {
  "a symbolic link within": ["before", "link"],
  "a GNU sparse file": ["before", "sparse"],
  "a file twice": ["twice"],
  "the same by other text": ["a"],
  "a NUL in a GNU name": ["ok"],
  "a wrong checksum later": ["ok"],
  "an archive cut behind a file": ["ok"],
  "one block of zeros": ["ok"],
  "another archive behind the end": ["ok"],
};

Deno.test("Python's tarfile, with its filter of data → extracts some of the same corpus, without an error", () =>
  withOutside(async (inside) => {
    const taken = HOSTILE_TARS.filter(({ what }) => what in TAKEN_BY_TARFILE);
    const said = await saidByPython(EXTRACT_BY_TARFILE, taken, inside);
    assert.deepEqual(
      Object.fromEntries(taken.map(({ what }, index) => [what, said[index]])),
      TAKEN_BY_TARFILE,
    );
  }));

/** Runs a program of Python with the archives, and a folder to extract to. */
async function saidByPython(
  source: string,
  tars: readonly HostileTar[],
  inside: string,
): Promise<string[][]> {
  const corpus = await mkdtemp(join(tmpdir(), "corpus-"));
  try {
    for (const [index, { bytes }] of tars.entries()) {
      await writeFile(join(corpus, `${index}.tar`), bytes);
    }
    const settings = tars.map(({ platform = "linux", maxEntries = 200_000 }) => ({
      platform,
      maxEntries,
    }));
    await writeFile(join(corpus, "settings.json"), JSON.stringify(settings));
    const { code, output, errors } = await runProgram(await interpreter(), {
      args: ["-c", source, corpus, join(inside, "target")],
      cwd: inside,
      env: PYTHON_ENVIRONMENT,
    });
    assert.equal(code, 0, errors);
    const said: string[][] = JSON.parse(output);
    assert.equal(said.length, tars.length);
    return said;
  } finally {
    await rm(corpus, { recursive: true });
  }
}

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

const EXTRACT_BY_TARFILE = `
import json, os, shutil, sys, tarfile
corpus, target = sys.argv[1:]
protected = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
said = []
for index in range(len(json.load(open(os.path.join(corpus, "settings.json"))))):
    with tarfile.open(os.path.join(corpus, f"{index}.tar"), "r:") as tar:
        tar.extractall(target, **protected)
    said.append(sorted(os.listdir(target)))
    shutil.rmtree(target)
print(json.dumps(said))
`;
