import assert from "node:assert/strict";
import { HostsFile } from "../../mesh/up/host/hosts_file.ts";
import { asksResolved } from "../../mesh/up/host/resolved.ts";
import type { WantedPeer } from "../../mesh/up/wanted/accept.ts";

const BUILDER: WantedPeer = {
  agentId: "builder",
  name: "builder",
  publicKey: "",
  presharedKey: "",
  ipv4: "10.213.0.2",
  ipv6: "fd00::2",
  endpoint: null,
  keepalive: 0,
  rules: [],
};

const LINE = "10.213.0.2 builder.mesh.internal builder\n";

/** Runs with the path of a file in a folder of its own, and what a hosts file at a path says. */
async function withFolder(
  use: (folder: string, open: (file: string) => { hosts: HostsFile; said: string[] }) => unknown,
): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "hosts-" });
  try {
    await use(folder, (file) => {
      const said: string[] = [];
      const log = (text: string) => void said.push(text);
      return { hosts: new HostsFile({ file, interfaceName: "mesh0", log }), said };
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("read-only, private, without an end, huge, with bytes that are no UTF-8 → as before, byte for byte, with its mode", async () => {
  const huge = Array.from({ length: 200_000 }, (_, at) => `0.0.0.0 blocked-${at}.example\n`);
  for (
    const [what, before, mode] of [
      ["read-only", "127.0.0.1 localhost\n", 0o444],
      ["private", "127.0.0.1 localhost\n", 0o600],
      ["without an end", "127.0.0.1 localhost", 0o644],
      ["empty", "", 0o644],
      ["huge", huge.join(""), 0o644],
      ["not UTF-8", new Uint8Array([...new TextEncoder().encode("# caf"), 0xe9, 10, 0xff]), 0o644],
    ] as const
  ) {
    await withFolder(async (folder, open) => {
      const file = `${folder}/hosts`;
      const bytes = typeof before === "string" ? new TextEncoder().encode(before) : before;
      await Deno.writeFile(file, bytes);
      await Deno.chmod(file, mode);
      const { hosts, said } = open(file);
      await hosts.write([BUILDER]);
      assert.ok((await Deno.readTextFile(file)).includes(LINE), what);
      await hosts.write([]);
      assert.deepEqual(await Deno.readFile(file), bytes, what);
      assert.equal((await Deno.stat(file)).mode! & 0o777, mode, what);
      assert.deepEqual([said, [...Deno.readDirSync(folder)].length], [[], 1], what);
    });
  }
});

Deno.test("a symlink → stays one, and its target gets the names; to nothing, and in a circle → said once", async () => {
  await withFolder(async (folder, open) => {
    const before = "127.0.0.1 localhost\n";
    await Deno.mkdir(`${folder}/elsewhere`);
    await Deno.writeTextFile(`${folder}/elsewhere/names`, before);
    await Deno.symlink("elsewhere/names", `${folder}/hosts`);
    const { hosts } = open(`${folder}/hosts`);
    await hosts.write([BUILDER]);
    assert.ok((await Deno.readTextFile(`${folder}/elsewhere/names`)).includes(LINE));
    assert.equal((await Deno.lstat(`${folder}/hosts`)).isSymlink, true);
    await hosts.write([]);
    assert.equal(await Deno.readTextFile(`${folder}/elsewhere/names`), before);

    await Deno.symlink("missing", `${folder}/dangling`);
    await Deno.symlink("circle", `${folder}/circle`);
    for (const file of ["dangling", "circle", "elsewhere"]) {
      const { hosts, said } = open(`${folder}/${file}`);
      await hosts.write([BUILDER]);
      await hosts.write([BUILDER]);
      assert.equal(said.length, 1, file);
    }
    const left = [...Deno.readDirSync(folder)].map(({ name }) => name).toSorted();
    assert.deepEqual(left, ["circle", "dangling", "elsewhere", "hosts"]);
  });
});

Deno.test("asksResolved() → if glibc asks it by its module, or by its address as the name server", () => {
  const [files, stub] = ["hosts: files dns\n", "# by hand\nnameserver 127.0.0.53\noptions edns0\n"];
  const module = "passwd: files\nhosts: mymachines resolve [!UNAVAIL=return] files dns\n";
  for (
    const [services, servers, expected] of [
      [files, stub, true],
      ["", "nameserver 127.0.0.54", true],
      [module, "nameserver 192.0.2.1\n", true],
      [files, "nameserver 192.0.2.1\n", false],
      [files, "# nameserver 127.0.0.53\n", false],
      [files, "nameserver 127.0.0.530\n", false],
      ["# hosts: resolve\n", "", false],
      ["hosts: files resolver\n", "", false],
    ] as const
  ) {
    assert.equal(asksResolved(services, servers), expected, services + servers);
  }
});
