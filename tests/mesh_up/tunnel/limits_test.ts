import assert from "node:assert/strict";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import { Host, untilListening } from "../../wireguard/hosts/host.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";

tunnelTest(
  "the documented limit of connections per peer → a further one of this peer is dropped, another peer's is not",
  async () => {
    await using host = await Host.create(`lim${crypto.randomUUID().slice(0, 6)}`, null);
    const block = await documentedBlock("docs/mesh.md, Limits on connections, 1");
    const rules = block.replaceAll('"mesh0"', '"lo"').replaceAll("over 500", "over 3");
    await host.run(["nft", "-f", "-"], { input: rules });
    host.start(["socat", "TCP-LISTEN:80,fork,reuseaddr", "EXEC:sleep 60"], { logName: "serve" });
    await untilListening(host, { proto: "tcp", port: 80 });
    for (let count = 0; count < 3; count++) {
      const held = "TCP:127.0.0.1:80,bind=127.0.0.2";
      host.start(["socat", held, "EXEC:sleep 60"], { logName: `held-${count}` });
    }
    const established = ["ss", "-Htn", "state", "established", "dst", "127.0.0.2"];
    while ((await host.run(established)).trim().split("\n").length < 3) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const script = (from: string) =>
      `timeout 2 socat -u TCP:127.0.0.1:80,bind=${from},connect-timeout=1 OPEN:/dev/null 2>&1; echo $?`;
    assert.match(await host.run(["sh", "-c", script("127.0.0.2")]), /timed out|[Tt]imeout/);
    assert.doesNotMatch(await host.run(["sh", "-c", script("127.0.0.3")]), /timed out|[Tt]imeout/);
  },
);
