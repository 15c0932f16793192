import assert from "node:assert/strict";
import plugin from "../../dev/checks/literal_spreads.ts";

Deno.test("the rule against spreads of literals → reports lists, objects and arguments, and no spread of anything else", () => {
  const found = (source: string) => Deno.lint.runPlugin(plugin, "file.ts", source).length;
  assert.equal(found("const a = [...[1, 2], 3];"), 1);
  assert.equal(found("const a = { ...{ b: 1 }, c: 2 };"), 1);
  assert.equal(found("call(...['a', 'b'], ...['c']);"), 2);
  assert.equal(
    found("const a = [...b, ...[1].map(f)]; const c = { ...d, ...(e ? { f } : {}) };"),
    0,
  );
});
