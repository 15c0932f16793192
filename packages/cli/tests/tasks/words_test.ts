import assert from "node:assert/strict";
import { wordsOf } from "../../tasks/words.ts";

for (
  const [text, words] of [
    ["build", ["build"]],
    ["  ./build.sh   --fast\tnow\n", ["./build.sh", "--fast", "now"]],
    [`sh -c 'wc -l < "$AGENT_FILE"'`, ["sh", "-c", 'wc -l < "$AGENT_FILE"']],
    [`say "it's" ''`, ["say", "it's", ""]],
    [`a"b c"'d e'f`, ["ab cd ef"]],
    ["echo $HOME * ; rm -rf ~ \\n `id` $(id)", [
      "echo",
      "$HOME",
      "*",
      ";",
      "rm",
      "-rf",
      "~",
      "\\n",
      "`id`",
      "$(id)",
    ]],
  ] as const
) {
  Deno.test(`wordsOf() of ${JSON.stringify(text)} → ${JSON.stringify(words)}`, () => {
    assert.deepEqual(wordsOf(text, "--exec"), words);
  });
}

for (const text of ["", "  ", "'' x", `sh -c 'x`, `sh "x`]) {
  Deno.test(`wordsOf() of ${JSON.stringify(text)} → UsageError that names the option`, () => {
    assert.throws(() => wordsOf(text, "--exec"), { name: "UsageError", message: /^--exec / });
  });
}
