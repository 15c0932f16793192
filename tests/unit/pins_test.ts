/**
 * Every package that is downloaded here is in one lock file with its digest. `deno task` downloads
 * all of a lock file, so the project's own configuration has none: those of the folders have it.
 */
import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { IMPORT_MAP, LOCK_FILE, type LockFile, pinnedPackages } from "../../dev/pins/pins.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";
import { PROJECT } from "../../packages/local/project.ts";

/** The folders with programs that `deno run` starts. It takes the configuration of the folder. */
const LOCKED_FOLDERS = ["dev", "packages/cli", "packages/local", "packages/operator", "tests"];

/** Their task names the lock file for `deno test`, or starts a program of `dev/`. */
const TEST_FOLDERS = [
  "clients/python",
  "packages/agent-files",
  "packages/agent-peer",
  "packages/command",
];

async function readConfiguration(folder: string) {
  return JSON.parse(await readFile(join(PROJECT, folder, "deno.json"), "utf8"));
}

async function readLock(): Promise<LockFile> {
  return JSON.parse(await readFile(LOCK_FILE, "utf8"));
}

Deno.test("the lock file → the pinned packages and what they need, each with its digest; `deno task lock` writes it", async () => {
  const { specifiers, npm } = await readLock();
  assert.deepEqual(Object.keys(specifiers).sort(), await pinnedPackages());
  const entries = Object.entries(npm);
  assert.ok(entries.length > 200, String(entries.length));
  const without = entries.filter(([, { integrity = "" }]) =>
    !/^sha512-[\w+/]{86}==$/.test(integrity)
  );
  assert.deepEqual(without, []);
});

Deno.test("the project's own configuration → neither a lock file nor imports, which `deno task` would download", async () => {
  const { importMap, imports, lock, unstable } = await readConfiguration(".");
  assert.deepEqual({ importMap, imports, lock, unstable }, {
    importMap: `./${IMPORT_MAP}`,
    imports: undefined,
    lock: false,
    unstable: ["npm-lazy-caching"],
  });
});

for (const folder of [...LOCKED_FOLDERS, ...TEST_FOLDERS]) {
  Deno.test(`the configuration of ${folder} → the options of the project, and the lock file, which no run changes, if programs start there`, async () => {
    const { exclude: _own, tasks: _tasks, lock, importMap, ...options } = await readConfiguration(
      folder,
    );
    const project = await readConfiguration(".");
    // `deno lint` starts in the project.
    const { exclude, tasks, lock: _none, importMap: map, lint: _lint, ...expected } = project;
    assert.ok(exclude && tasks && map);
    assert.deepEqual(options, expected);
    const at = join(PROJECT, folder);
    assert.equal(join(at, importMap), join(PROJECT, map));
    if (TEST_FOLDERS.includes(folder)) return assert.equal(lock, false);
    assert.deepEqual(
      { ...lock, path: join(at, lock.path) },
      { path: LOCK_FILE, frozen: true },
    );
  });
}

/** What a program in a copy of `dev/` says that imports a package, with an empty cache. */
async function importInCopy(change: (lock: string) => string) {
  const directory = await Deno.makeTempDir({ prefix: "pins-" });
  try {
    const dev = join(directory, "dev");
    for (const file of [IMPORT_MAP, relative(PROJECT, LOCK_FILE), "dev/deno.json"]) {
      await cp(join(PROJECT, file), join(directory, file));
    }
    const lock = join(directory, relative(PROJECT, LOCK_FILE));
    await writeFile(lock, change(await readFile(lock, "utf8")));
    const program = join(dev, "program.ts");
    await writeFile(program, 'import { lookup } from "mrmime";\nconsole.log(lookup("a.txt"));\n');
    const before = await readFile(lock, "utf8");
    const ended = await runProgram(Deno.execPath(), {
      args: ["run", program],
      cwd: dirname(dev),
      env: { DENO_DIR: join(directory, "cache"), NO_COLOR: "1" },
    });
    assert.equal(await readFile(lock, "utf8"), before);
    return { ...ended, downloads: ended.errors.match(/^Download .*\.tgz$/gm) ?? [] };
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

Deno.test("a program that imports one package, with an empty cache → downloads that one", async () => {
  const { code, output, errors, downloads } = await importInCopy((lock) => lock);
  assert.equal(code, 0, errors);
  assert.equal(output.trim(), "text/plain");
  assert.equal(downloads.length, 1, errors);
  assert.match(downloads[0]!, /mrmime/);
});

Deno.test("a package with another digest than the lock file's → refused", async () => {
  const { code, output, errors } = await importInCopy((lock) => {
    const changed = lock.replace(/("mrmime@[\d.]+": \{\s*"integrity": "sha512-)..../, "$1AAAA");
    assert.notEqual(changed, lock);
    return changed;
  });
  assert.notEqual(code, 0);
  assert.equal(output, "");
  assert.match(errors, /integrity|checksum/i);
});

Deno.test("a package that the lock file lacks → refused", async () => {
  const { code, output, errors } = await importInCopy((lock) => {
    const changed = lock.replace(/ *"npm:mrmime@[^\n]*\n/, "");
    assert.notEqual(changed, lock);
    return changed;
  });
  assert.notEqual(code, 0);
  assert.equal(output, "");
  assert.match(errors, /lockfile is out of date/);
});
