import assert from "node:assert/strict";
import { withNames } from "../../mesh/up/wanted/hosts_block.ts";

const BEFORE = "127.0.0.1\tlocalhost\n# by hand\n192.0.2.7 printer Printer.example\n";
const BUILDER = { name: "builder", ipv4: "10.213.0.2", ipv6: "fd00::2" };
const BLOCK = "# begin of mesh-agent mesh0\n10.213.0.2 builder\nfd00::2 builder\n" +
  "# end of mesh-agent mesh0\n";

function named(text: string, peers: Parameters<typeof withNames>[1]["peers"]): string {
  return withNames(text, { interfaceName: "mesh0", ownName: "Alpha.example", peers });
}

Deno.test("a peer → its names in a block at the end; again → the same; gone → the file as before", () => {
  assert.equal(named(BEFORE, [BUILDER]), BEFORE + BLOCK);
  assert.equal(named(BEFORE + BLOCK, [BUILDER]), BEFORE + BLOCK);
  assert.equal(named(BEFORE + BLOCK, []), BEFORE);
});

Deno.test("a name that the file has, this host's, no name, and one name twice → left out", () => {
  const taken = ["printer", "printer.example", "alpha", "localhost", null, "builder"];
  const others = taken.map((name) => ({ ...BUILDER, name, ipv4: "10.213.0.9" }));
  assert.equal(named(BEFORE, [BUILDER, ...others]), BEFORE + BLOCK);
});

Deno.test("lines by hand around and in the block, and a begin without an end → each such line stays", () => {
  const [begin, ...rest] = BLOCK.split("\n");
  const text = `${BEFORE}${begin}\n192.0.2.8 scanner # by hand, too\n${rest.join("\n")}` +
    `192.0.2.9\tBUILDER\n${begin}\n10.213.0.99 gone\n192.0.2.10 last of all\n`;
  assert.equal(
    named(text, [BUILDER]),
    `${BEFORE}192.0.2.8 scanner # by hand, too\n192.0.2.9\tBUILDER\n192.0.2.10 last of all\n`,
  );
});

Deno.test("the block of another interface → it stays", () => {
  const other = BLOCK.replaceAll("mesh0", "mesh1").replaceAll("builder", "writer");
  assert.equal(named(BEFORE + other, []), BEFORE + other);
});
