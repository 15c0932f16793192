import assert from "node:assert/strict";
import { stat, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { parseExposure } from "../../mesh/proxies/expose.ts";
import { parseForwarding } from "../../mesh/proxies/forward.ts";
import { listenAt, parsePlace } from "../../mesh/proxies/place.ts";

Deno.test("parsePlace() → ports of this machine and paths; null for other machines and invalid ports", () => {
  for (
    const [text, host, port] of [
      ["1080", "127.0.0.1", 1080],
      ["127.0.0.1:1080", "127.0.0.1", 1080],
      ["localhost:0", "127.0.0.1", 0],
      ["127.1.2.3:9", "127.1.2.3", 9],
      ["[::1]:1080", "::1", 1080],
    ] as const
  ) assert.deepEqual(parsePlace(text), { kind: "port", host, port });
  for (const path of ["/run/mesh.sock", "./mesh.sock"]) {
    assert.deepEqual(parsePlace(path), { kind: "file", path });
  }
  for (
    const text of [
      "",
      "0.0.0.0:1080",
      "[::]:1080",
      "10.0.0.1:1080",
      "builder:1080",
      "65536",
      "-1",
      "1 080",
      "128.0.0.1:1",
      ":1080",
      "127.0.0.1",
      "mesh.sock",
      "[::1]1080",
    ]
  ) assert.equal(parsePlace(text), null, text);
});

Deno.test("parseExposure() → a port, or a port and another one; null for anything else", () => {
  assert.deepEqual(parseExposure("8080"), { port: 8080, localPort: 8080 });
  assert.deepEqual(parseExposure("8080=3000"), { port: 8080, localPort: 3000 });
  for (const text of ["", "0", "8080=", "=3000", "8080=0", "65536", "8080=127.0.0.1:3000", "x"]) {
    assert.equal(parseExposure(text), null, text);
  }
});

Deno.test("parseForwarding() → a place, and a port of a peer; null for anything else", () => {
  const port = { kind: "port", host: "127.0.0.1", port: 5432 } as const;
  const file = { kind: "file", path: "/run/db.sock" } as const;
  for (
    const [text, place, host, to] of [
      ["5432=db:5433", port, "db", 5433],
      ["localhost:5432=10.213.0.2:80", port, "10.213.0.2", 80],
      ["/run/db.sock=[fd00::2]:5432", file, "fd00::2", 5432],
    ] as const
  ) assert.deepEqual(parseForwarding(text), { place, host, port: to });
  for (
    const text of [
      "",
      "5432",
      "5432=db",
      "5432=5432",
      "5432=db:0",
      "5432=db:65536",
      "5432=:5432",
      "=db:5432",
      "10.0.0.1:5432=db:5432",
      "5432=fd00::2:5432",
      "5432=db:54=32",
    ]
  ) assert.equal(parseForwarding(text), null, text);
});

Deno.test("a proxy at a Unix socket → for its owner alone; what a dead process left is replaced, what is served or a file is not", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const path = join(folder, "proxy.sock");
    const first = createServer(says("first"));
    await listenAt(first, { kind: "file", path });
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    await assert.rejects(listenAt(createServer(), { kind: "file", path }), { code: "EADDRINUSE" });
    assert.equal(await textAt(path), "first");
    first.close();

    const stale = new Deno.Command("python3", {
      args: ["-c", "import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])", path],
    });
    assert.equal((await stale.output()).code, 0);
    const second = createServer(says("second"));
    await listenAt(second, { kind: "file", path });
    assert.equal(await textAt(path), "second");
    second.close();

    const file = join(folder, "precious");
    await writeFile(file, "kept");
    await assert.rejects(listenAt(createServer(), { kind: "file", path: file }));
    assert.equal(await Deno.readTextFile(file), "kept");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

function says(text: string): (socket: Socket) => void {
  return (socket) => {
    // A proxy that starts connects only to see whether this one answers, then disconnects.
    socket.on("error", () => {});
    socket.end(text);
  };
}

function textAt(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(path);
    socket.on("data", (chunk) => text += chunk);
    socket.on("end", () => resolve(text));
    socket.on("error", reject);
  });
}
