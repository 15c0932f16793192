import assert from "node:assert/strict";
import { join } from "node:path";
import { kernelInterface } from "../../forwarding/kernel.ts";

/** A peer whose packet moves it back to its port while the numbers of bytes are read. */
const WG = `#!/bin/sh
cd "$(dirname "$0")"
case $3 in
  public-key) echo own= ;;
  listen-port) echo 51820 ;;
  endpoints) cat endpoints ;;
  latest-handshakes) printf 'a=\\t1790000000\\n' ;;
  transfer)
    sleep 0.3
    printf 'a=\\t127.0.0.1:4000\\n' >endpoints
    printf 'a=\\t132\\t0\\n'
    ;;
esac
`;

Deno.test("a packet arrives while the state is read → if it is counted, the endpoint is the one that it came from", async () => {
  const folder = await Deno.makeTempDir({ prefix: "kernel-" });
  const path = Deno.env.get("PATH")!;
  try {
    await Deno.writeTextFile(join(folder, "wg"), WG, { mode: 0o755 });
    await Deno.writeTextFile(join(folder, "endpoints"), "a=\t192.0.2.1:51820\n");
    Deno.env.set("PATH", `${folder}:${path}`);
    const state = await kernelInterface("mesh0").state();
    const peer = { publicKey: "a=", endpoint: "127.0.0.1:4000", receivedBytes: 132 };
    const lastHandshakeAt = 1_790_000_000_000;
    assert.deepEqual(state, {
      publicKey: "own=",
      listenPort: 51820,
      peers: [{ ...peer, lastHandshakeAt }],
    });
  } finally {
    Deno.env.set("PATH", path);
    await Deno.remove(folder, { recursive: true });
  }
});
