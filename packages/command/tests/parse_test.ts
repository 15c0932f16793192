import assert from "node:assert/strict";
import { type Command, defineCommandFor, defineGroup } from "../command.ts";
import { parse, partOf, takeCommonOptions, takeOption } from "../parse.ts";
import { UsageError } from "../usage_error.ts";

const define = defineCommandFor<null>();
const NOTHING = () => Promise.resolve();

const GREET = define({
  summary: "Greet somebody.",
  example: "greet Ada",
  positionals: { usage: "<name>", least: 1, most: 1, wrong: "Name one person." },
  options: {
    loud: { type: "boolean", short: "l", help: "in capital letters" },
    by: { type: "string", multiple: true, help: "who greets" },
  },
  run: NOTHING,
});

const BARE = define({ summary: "Do it.", example: "bare", options: {}, run: NOTHING });

const GROUP: Command<null> = defineGroup<null>({
  summary: "Greet, or not.",
  example: "group greet Ada",
  parts: { greet: GREET, bare: BARE },
  defaultPart: "bare",
});

Deno.test("takeCommonOptions() → --json and --help anywhere before --, and the rest", () => {
  assert.deepEqual(takeCommonOptions(["put", "--json", "x", "-h", "--", "--json"]), {
    json: true,
    help: true,
    rest: ["put", "x", "--", "--json"],
  });
});

Deno.test("takeOption() → its value, as one word or two, but not after --", () => {
  const take = (...args: string[]) => takeOption(args, "--project");
  assert.deepEqual(take("a", "--project", "x", "b"), { value: "x", rest: ["a", "b"] });
  assert.deepEqual(take("--project=x=y", "b"), { value: "x=y", rest: ["b"] });
  assert.deepEqual(take("a", "--project"), { value: null, rest: ["a"] });
  assert.deepEqual(take("a", "--projects"), { value: undefined, rest: ["a", "--projects"] });
  const late = ["a", "--", "--project", "x"];
  assert.deepEqual(take(...late), { value: undefined, rest: late });
});

Deno.test("parse() of options and arguments → their values", async () => {
  const { values, positionals } = await parse(GREET, ["Ada", "-l", "--by", "a", "--by=b"]);
  assert.deepEqual({ ...values }, { loud: true, by: ["a", "b"] });
  assert.deepEqual(positionals, ["Ada"]);
});

for (
  const [command, args, sentence] of [
    [GREET, [], "Name one person."],
    [GREET, ["Ada", "Bob"], "Name one person."],
    [GREET, ["Ada", "--lud"], "unknown option: --lud. Did you mean --loud?"],
    [GREET, ["Ada", "--quite-other"], "unknown option: --quite-other."],
    [GREET, ["Ada", "--by"], "Option '--by <value>' argument missing."],
    [BARE, ["x"], "Give only options."],
  ] as const
) {
  Deno.test(`parse() of ${JSON.stringify(args)} → UsageError: ${sentence}`, async () => {
    await assert.rejects(parse(command, args), new UsageError(sentence));
  });
}

Deno.test("partOf() a group → the named part, or the default one; with --help, the group", async () => {
  const nameOf = async (args: readonly string[], help = false) =>
    (await partOf({ name: "group", command: GROUP, args }, { help })).name;
  assert.equal(await nameOf(["greet", "Ada"]), "group greet");
  assert.equal(await nameOf([]), "group bare");
  assert.equal(await nameOf(["--by", "a"]), "group bare");
  assert.equal(await nameOf([], true), "group");
});

Deno.test("partOf() a group without a default part, and no part named → UsageError; with --help, the group", async () => {
  const command = defineGroup<null>({
    summary: "",
    example: "",
    parts: { greet: GREET, bare: BARE },
  });
  const named = { name: "group", command, args: [] };
  await assert.rejects(
    partOf(named, { help: false }),
    new UsageError("Say what to do: greet, bare."),
  );
  assert.equal((await partOf(named, { help: true })).name, "group");
});

Deno.test("partOf() an unknown part, also a property of every object → UsageError", async () => {
  const find = (word: string) =>
    partOf({ name: "group", command: GROUP, args: [word] }, { help: false });
  await assert.rejects(find("gret"), new UsageError("unknown verb: gret. Did you mean greet?"));
  await assert.rejects(find("toString"), new UsageError("unknown verb: toString."));
});
