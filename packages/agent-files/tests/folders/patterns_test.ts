/** What `--exclude` and `--gitignore` leave out, compared with git itself. */
import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { nodeModules } from "../../folders/node.ts";
import type { WalkOptions } from "../../folders/packed.ts";
import { walk } from "../../folders/walk.ts";
import { runProgram } from "../../../local/processes/run_program.ts";
import { interpreter, PYTHON_ENVIRONMENT } from "../../../../clients/python/tests/interpreter.ts";
import { withFolder } from "./sample.ts";

const FILES = [
  "a.log",
  "b.txt",
  "keep.log",
  ".env",
  ".env.local",
  "build/out.js",
  "build/keep/x",
  "src/a.log",
  "src/build/y",
  "src/main.ts",
  "src/deep/er/z.tmp",
  "docs/x/y/notes.md",
  "docs/notes.md",
  "docs/a/notes.md",
  "notes.md",
  "foo/bar",
  "foo/a/bar",
  "foo/a/b/bar",
  "x1",
  "x2",
  "xa",
  "x-",
  "x]",
  "#hash",
  "!bang",
  "space ",
  "star*",
  "back\\slash",
  "brackets[1]",
  "a?c",
  "abc",
  "Größe.txt",
  "lib/.hidden/f",
  "lib/nested/only",
  "lib/nested/also",
  "tail/one/two/three",
  "tmp",
  "sub/tmp/f",
  "data/keep.csv",
  "data/drop.csv",
  "UPPER",
  "upper",
  "d.d/e.e",
  "a+b(c)|d.txt",
  "new\nline",
];

const IGNORES: Readonly<Record<string, readonly string[]>> = {
  "extensions and exceptions": ["*.log", "!keep.log"],
  "a folder anywhere, at the top, an exception below it": [
    "build/",
    "!build/keep/",
    "/src/main.ts",
  ],
  "a folder's content with exceptions": ["/data/*", "!/data/keep.csv"],
  "two stars": ["docs/**/notes.md", "**/er", "foo/**/bar", "tail/**"],
  "two stars that are one": ["no**.md", "**.tmp", "k***p.log"],
  "sets": ["x[0-9]", "x[!a-z0-9]", "[[:upper:]]PPER", "x[]-]", "brackets[[]1]"],
  "sets that no regular expression has": [
    "x[2-1]",
    "[[:lower:]-u]pper",
    "x[![:letter:]]",
    "a[a-[:alpha:]].log",
    "x[]-[]",
    "x[--a]",
    "a[c-b&&||~~]c",
  ],
  "several stars in a name": [
    "*o*e*.md",
    "s*/*a*n.t*",
    "*a*?*[.]?o[g]",
    "*/b*/*x*",
    "b*[[]*1*",
    "do*s/**/n*t*s.*d",
    "*.*.*.*",
    "f*o/b*a*r",
  ],
  "question marks and escapes": ["a?c", "\\#hash", "\\!bang", "star\\*", "back\\\\slash"],
  "blanks": ["space\\ ", "b.txt   ", "", "  ", "# a comment", "tmp/"],
  "what matches nothing": ["[", "x\\", "/", "nothing/"],
  "not ASCII, CRLF": ["Gr*e.txt\r", "a.log\r"],
  "signs of regular expressions": ["a+b(c)|d.txt", "d.d", "a.c"],
  "dot files": [".*", "!.env"],
};

/** The files below a folder that are not ignored, as git names them. */
async function byGit(folder: string, args: readonly string[]): Promise<string[]> {
  const { output, errors, code } = await runProgram("git", {
    args: ["-c", "core.excludesFile=", "ls-files", "-z", "--others", ...args],
    cwd: folder,
  });
  assert.equal(code, 0, errors);
  return output.split("\0").filter(Boolean).sort();
}

async function byWalk(folder: string, options: WalkOptions): Promise<string[]> {
  const { found } = await walk(await nodeModules(), folder, "top", options);
  return found.filter(({ isDirectory }) => !isDirectory)
    .map(({ name }) => name.slice("top/".length)).sort();
}

async function byPython(folder: string, { exclude = [], gitignore = false }: WalkOptions) {
  const source = `
import json, os, sys
from agent_files._folders.pack import FolderTar
tar = FolderTar(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3] == "true")
print(json.dumps([e.name.split("/", 1)[1] for e in tar.entries if not e.name.endswith("/")]))
`;
  const { output, errors, code } = await runProgram(await interpreter(), {
    args: ["-c", source, folder, JSON.stringify(exclude), String(gitignore)],
    cwd: folder,
    env: PYTHON_ENVIRONMENT,
  });
  assert.equal(code, 0, errors);
  return (JSON.parse(output) as string[]).sort();
}

async function makeRepository(folder: string): Promise<void> {
  for (const file of FILES) {
    await mkdir(join(folder, dirname(file)), { recursive: true });
    await writeFile(join(folder, file), file);
  }
  const { code, errors } = await runProgram("git", { args: ["init", "--quiet"], cwd: folder });
  assert.equal(code, 0, errors);
}

for (const [what, lines] of Object.entries(IGNORES)) {
  Deno.test(`a folder with ignored files (${what}) → TypeScript and Python send what git lists`, () =>
    withFolder(async (folder) => {
      await makeRepository(folder);
      await writeFile(join(folder, ".gitignore"), lines.join("\n"));
      const expected = await byGit(folder, ["--exclude-standard"]);
      assert.deepEqual(await byWalk(folder, { gitignore: true }), expected);
      assert.deepEqual(await byPython(folder, { gitignore: true }), expected);
    }));
}

Deno.test("several .gitignore files, a repository around the folder, its info/exclude, patterns of the call → as git decides", () =>
  withFolder(async (folder) => {
    await makeRepository(folder);
    await writeFile(join(folder, ".gitignore"), "*.log\n/lib/nested/only\n.env*\n");
    await writeFile(join(folder, ".git/info/exclude"), "UPPER\n/lib/nested/also\n");
    await writeFile(join(folder, "src/.gitignore"), "!a.log\n/main.ts\n");
    await writeFile(join(folder, "lib/.gitignore"), "!/nested/only\n");
    await writeFile(join(folder, "lib/.env"), "secret");
    await symlink("../.gitignore", join(folder, "docs/.gitignore"));
    for (const place of ["", "src", "lib", "lib/nested"]) {
      const inside = join(folder, place);
      const expected = await byGit(inside, ["--exclude-standard"]);
      const withoutLinks = expected.filter((name) => name !== "docs/.gitignore");
      assert.deepEqual(await byWalk(inside, { gitignore: true }), withoutLinks, place);
      assert.deepEqual(await byPython(inside, { gitignore: true }), withoutLinks, place);
    }
    const exclude = ["*.ts", "!*.log", "/docs/"];
    const chosen = exclude.map((pattern) => `--exclude=${pattern}`);
    const expected = await byGit(folder, ["--exclude-standard", ...chosen]);
    assert.deepEqual(await byWalk(folder, { gitignore: true, exclude }), expected);
    assert.deepEqual(await byPython(folder, { gitignore: true, exclude }), expected);
    const alone = await byWalk(folder, { exclude: [".git", "docs/.gitignore", ...exclude] });
    assert.deepEqual(alone, await byGit(folder, chosen));
    assert.deepEqual(await byPython(folder, { exclude: [".git", ...exclude] }), alone);
  }));

Deno.test("a stranger's .gitignore with many stars, and a long name → decided at once", () =>
  withFolder(async (folder) => {
    const name = "a".repeat(250);
    await writeFile(join(folder, name), "");
    await writeFile(join(folder, ".gitignore"), `.*\n${"*a".repeat(30)}*b\n`);
    await mkdir(join(folder, ".git"));
    assert.deepEqual(await byWalk(folder, { gitignore: true }), [name]);
    assert.deepEqual(await byPython(folder, { gitignore: true }), [name]);
  }));

Deno.test("a .gitignore of more than 1 MiB → nothing is sent: its later lines must not be missed", () =>
  withFolder(async (folder) => {
    await makeRepository(folder);
    await writeFile(join(folder, ".gitignore"), `${"# long\n".repeat(160_000)}.env\n`);
    const wrong = /more than 1048576 bytes/;
    await assert.rejects(byWalk(folder, { gitignore: true }), wrong);
    await assert.rejects(byPython(folder, { gitignore: true }), wrong);
  }));
