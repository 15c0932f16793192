/** Completion in real shells: the line after Tab is pressed. */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { COMMANDS } from "../../verbs.ts";
import { isLeftOutWithout } from "../../../../tests/left_out.ts";
import { Desk } from "../desk.ts";
import { Pty } from "./terminal.ts";

/** A folder with the completion scripts, and with a file and a folder to complete. */
async function openDesk(): Promise<Desk> {
  const desk = await Desk.of("planner");
  await mkdir(desk.path("drawings"));
  await writeFile(desk.path("plan with spaces.txt"), "");
  for (const shell of ["bash", "zsh", "fish"]) {
    const { code, output, errors } = await desk.run(["completion", shell]);
    assert.deepEqual([code, errors], [0, ""]);
    await writeFile(desk.path(`completion.${shell}`), output);
  }
  return desk;
}

/** What is typed, and the arguments that the command then gets. */
const LINES = [
  ["comp\\tba\\t", "completion,bash"],
  ["unli\\t", "unlink"],
  ["put --max-d\\t3 pl\\t", "put,--max-downloads,3,plan with spaces.txt"],
  ["inbox --foll\\t--download dr\\t", "inbox,--follow,--download,drawings/"],
  ["mesh con\\t--o\\tdra\\t", "mesh,config,--out,drawings/"],
  ["get --from x -o dra\\t", "get,--from,x,-o,drawings/"],
  ["work --max\\t60 --no\\t", "work,--max-runtime,60,--no-wait"],
  ["share --deliver o\\t", "share,--deliver,one"],
  ["mesh stat\\t--js\\t", "mesh,status,--json"],
  ["man --he\\t", "man,--help"],
  ["login --ins\\tblue --gi\\t", "login,--instance,blue,--github"],
].map(([typed, words]) => [typed!.replaceAll("\\t", "\t"), words!] as const);

const SHELLS = {
  bash: {
    args: ["--noprofile", "--norc", "-i"],
    begin: [". ./completion.bash", 'agentfiles() { local IFS=,; echo "called: $*"; }'],
  },
  zsh: {
    args: ["-f", "-i"],
    begin: [
      "unsetopt auto_remove_slash; autoload -U compinit; compinit -u -D",
      ". ./completion.zsh",
      'agentfiles() { print -r -- "called: ${(j:,:)@}" }',
    ],
  },
} as const;

const leftOut = {
  bash: false,
  zsh: await isLeftOutWithout("zsh", "Completion in zsh is"),
  fish: await isLeftOutWithout("fish", "Completion in fish is"),
};

for (const [shell, { args, begin }] of Object.entries(SHELLS)) {
  const name =
    `agentfiles completion ${shell} in ${shell}, Tab → verbs, parts, options, files, folders`;
  Deno.test(name, { ignore: leftOut[shell as keyof typeof SHELLS] }, async () => {
    await using desk = await openDesk();
    const env = { PS1: "ready> ", HOME: desk.folder, PATH: Deno.env.get("PATH")! };
    await using pty = new Pty(shell, args, { columns: 100, cwd: desk.folder, env });
    await pty.untilShown("ready> ");
    for (const line of begin) await pty.type(`${line}\n`);
    // The quotes make the output differ from the typed text, which the terminal shows too.
    await pty.type("echo it''begins\n");
    await pty.untilShown("itbegins");
    for (const [index, [typed, words]] of LINES.entries()) {
      await pty.type(`agentfiles ${typed}\necho it''ends${index}\n`);
      const shown = await pty.untilShown(`itends${index}`);
      const [, called] = /.*^called: (.*?)\r?$/ms.exec(shown.split(`itends${index - 1}`).at(-1)!)!;
      assert.equal(called, words);
    }
    await pty.type("exit\n");
    assert.equal((await pty.ended()).code, 0);
  });
}

Deno.test("agentfiles completion zsh as a file of fpath → completes, too", {
  ignore: leftOut.zsh,
}, async () => {
  await using desk = await openDesk();
  await mkdir(desk.path("functions"));
  await Deno.rename(desk.path("completion.zsh"), desk.path("functions/_agentfiles"));
  const env = { PS1: "ready> ", HOME: desk.folder, PATH: Deno.env.get("PATH")! };
  await using pty = new Pty("zsh", ["-f", "-i"], { columns: 100, cwd: desk.folder, env });
  await pty.untilShown("ready> ");
  await pty.type("fpath=(./functions $fpath); autoload -U compinit; compinit -u -D\n");
  await pty.type("agentfiles() { print -r -- \"called: ${(j:,:)@}\" }; echo it''begins\n");
  await pty.untilShown("itbegins");
  for (const _ of ["loaded", "again"]) {
    await pty.type("agentfiles comp\tfi\t\n");
  }
  await pty.type("echo it''ends\n");
  const shown = await pty.untilShown("itends");
  assert.equal(shown.match(/^called: completion,fish\r?$/gm)?.length, 2, shown);
  await pty.type("exit\n");
  assert.equal((await pty.ended()).code, 0);
});

/** The completions that fish offers for a line. */
async function offeredByFish(desk: Desk, line: string): Promise<string[]> {
  const script = "source completion.fish; complete -C $argv[1]";
  const { code, stdout, stderr } = await new Deno.Command("fish", {
    args: ["--no-config", "-c", script, line],
    cwd: desk.folder,
    env: { HOME: desk.folder },
  }).output();
  assert.deepEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
  const lines = new TextDecoder().decode(stdout).split("\n").filter(Boolean);
  return lines.map((text) => text.split("\t", 1)[0]!).toSorted();
}

for (
  const [line, words] of [
    ["agentfiles ", [...Object.keys(COMMANDS), "help"].toSorted()],
    ["agentfiles lin", ["link", "links"]],
    ["agentfiles completion ", ["bash", "fish", "zsh"]],
    ["agentfiles put --max", ["--max-attempts", "--max-downloads"]],
    ["agentfiles put plan", ["plan with spaces.txt"]],
    ["agentfiles inbox --download ", ["drawings/"]],
    ["agentfiles mesh con", ["config"]],
    ["agentfiles mesh config -o dr", ["drawings/"]],
    ["agentfiles share --ttl ", []],
    ["agentfiles ls pl", []],
  ] as const
) {
  const offered = words.length > 4 ? "every verb" : words.join(", ") || "nothing";
  Deno.test(`agentfiles completion fish, "${line}" → ${offered}`, {
    ignore: leftOut.fish,
  }, async () => {
    await using desk = await openDesk();
    assert.deepEqual(await offeredByFish(desk, line), words);
  });
}
