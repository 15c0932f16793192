import assert from "node:assert/strict";
import { withNames } from "../../mesh/up/wanted/hosts_block.ts";

const BEFORE = "127.0.0.1\tlocalhost\n# by hand\n192.0.2.7 printer Printer.example\n";
const BUILDER = { name: "builder", ipv4: "10.213.0.2", ipv6: "fd00::2" };
const NAMES = "builder.mesh.internal builder";
const BLOCK = `# begin of mesh-agent mesh0\n10.213.0.2 ${NAMES}\nfd00::2 ${NAMES}\n` +
  "# end of mesh-agent mesh0\n";

function named(text: string, peers: Parameters<typeof withNames>[1]["peers"]): string {
  return withNames(text, { interfaceName: "mesh0", ownName: "Alpha.example", peers });
}

Deno.test("a peer → its names in a block at the end; again → the same; gone → the file as before", () => {
  assert.equal(named(BEFORE, [BUILDER]), BEFORE + BLOCK);
  assert.equal(named(BEFORE + BLOCK, [BUILDER]), BEFORE + BLOCK);
  assert.equal(named(BEFORE + BLOCK, []), BEFORE);
});

Deno.test("a name that the file or this host has → only with the domain; no name, one name twice → left out", () => {
  const others = [null, "builder", "printer", "alpha", "localhost"]
    .map((name) => ({ ...BUILDER, name, ipv4: "10.213.0.9", ipv6: "fd00::9" }));
  const lines = ["printer", "alpha", "localhost"].flatMap((name) => [
    `10.213.0.9 ${name}.mesh.internal\n`,
    `fd00::9 ${name}.mesh.internal\n`,
  ]);
  const [rows, end] = BLOCK.split(/(?=# end)/);
  const expected = BEFORE + rows + lines.join("") + end;
  assert.equal(named(BEFORE, [BUILDER, ...others]), expected);
  assert.equal(named(expected, []), BEFORE);
});

Deno.test("a last line without an end, and an empty file → as before, byte for byte, once the names are gone", () => {
  for (
    const before of ["", "\n", "127.0.0.1 localhost", "127.0.0.1 localhost\r\n# end", `${BEFORE}\n`]
  ) {
    const with1 = named(before, [BUILDER]);
    assert.notEqual(with1, before);
    const with2 = named(with1, [BUILDER, { name: "writer", ipv4: "10.213.0.3", ipv6: "fd00::3" }]);
    assert.notEqual(with2, with1);
    assert.equal(named(with2, [BUILDER]), with1);
    assert.equal(named(with1, []), before);
  }
});

Deno.test("a last line without an end, and lines that others add after the block → each stays a line", () => {
  const text = named("127.0.0.1 localhost", [BUILDER]) + "192.0.2.8 scanner\n";
  assert.equal(named(text, []), "127.0.0.1 localhost\n192.0.2.8 scanner\n");
  assert.equal(named(named(text, [BUILDER]), []), "127.0.0.1 localhost\n192.0.2.8 scanner\n");
});

Deno.test("the block of an earlier version, without domains → replaced", () => {
  const earlier = BLOCK.replaceAll("builder.mesh.internal ", "");
  assert.equal(named(BEFORE + earlier, [BUILDER]), BEFORE + BLOCK);
  assert.equal(named(BEFORE + earlier, []), BEFORE);
});

Deno.test("lines by hand around and in the block, and a begin without an end → each such line stays", () => {
  const [begin, ...rest] = BLOCK.split("\n");
  const text = `${BEFORE}${begin}\n192.0.2.8 scanner # by hand, too\n${rest.join("\n")}` +
    `192.0.2.9\tBUILDER\n${begin}\n10.213.0.99 gone\n192.0.2.10 last of all\n`;
  assert.equal(
    named(text, [BUILDER]),
    `${BEFORE}192.0.2.8 scanner # by hand, too\n192.0.2.9\tBUILDER\n192.0.2.10 last of all\n` +
      BLOCK.replaceAll(NAMES, "builder.mesh.internal"),
  );
});

Deno.test("the block of another interface → it stays", () => {
  const other = BLOCK.replaceAll("mesh0", "mesh1").replaceAll("builder", "writer");
  assert.equal(named(BEFORE + other, []), BEFORE + other);
});
