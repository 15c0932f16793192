import assert from "node:assert/strict";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { type Member, Mesh } from "../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { joinedPair } from "./hosts/kernel_host.ts";
import { allow, type Sandbox } from "./hosts/sandbox.ts";

const CONNECTS = "\n%{http_code} %{num_connects} ";

/** What curl prints on a host about paths of a sandbox's server. */
async function curl(
  { host }: Member,
  { sandbox, paths, args = [] }: {
    readonly sandbox: Sandbox;
    readonly paths: readonly string[];
    readonly args?: readonly string[];
  },
) {
  const urls = paths.map((path) => `http://${sandbox.ipv4}:8080${path}`);
  return await host.runAnyhow(["curl", "-sS", "-w", CONNECTS, ...args, ...urls]);
}

for (const runtime of ["deno", "node"] as const) {
  tunnelTest(
    `mesh.serve() under ${runtime}, asked by a kernel's host → who asks, streams, 500 without details, an aborted signal; it ends with the mesh`,
    async () => {
      await using mesh = await Mesh.create();
      const { builder, sandbox } = await joinedPair(mesh, { runtime });
      await sandbox.tell({ do: "serveWeb", port: 8080 });
      await allow({ from: builder, to: sandbox, port: 8080 });
      const who = () => curl(builder, { sandbox, paths: ["/who", "/who"], args: ["-m20"] });
      await eventually("the host is answered", {
        condition: async () => (await who()).output.startsWith(builder.agent.id),
      });
      const second = runtime === "node" ? 0 : 1;
      assert.equal(
        (await who()).output,
        `${builder.agent.id}\n200 1 ${builder.agent.id}\n200 ${second} `,
      );

      const script = `set -o pipefail; head -c 3000000 /dev/urandom > "$0"; sha256sum < "$0"; ` +
        `curl -sS -T "$0" http://${sandbox.ipv4}:8080/echo | sha256sum`;
      const file = `${builder.host.directory}/upload`;
      const [sent, echoed] = (await builder.host.run(["bash", "-c", script, file])).split("\n");
      assert.equal(echoed, sent);

      const failed = await curl(builder, { sandbox, paths: ["/fails"] });
      assert.equal(failed.output, "Internal Server Error\n500 1 ");

      const { success } = await curl(builder, { sandbox, paths: ["/never"], args: ["-m1"] });
      assert.equal(success, false);
      await eventually("the request that curl has given up is aborted", {
        condition: async () => {
          const { signals } = await sandbox.tell<{ signals: boolean[] }>({ do: "signals" });
          assert.ok(!signals.slice(0, -1).includes(true), "no other one");
          return signals.at(-1) === true;
        },
      });

      const { flows } = await sandbox.tell<{ flows: object[] }>({ do: "flows" });
      assert.ok(flows.length > 3, JSON.stringify(flows));

      const cut = curl(builder, { sandbox, paths: ["/never"], args: ["-m60"] });
      await eventually("the request has arrived", {
        condition: async () => {
          const { signals } = await sandbox.tell<{ signals: boolean[] }>({ do: "signals" });
          return signals.at(-1) === false;
        },
      });
      await sandbox.tell({ do: "close" });
      const { success: isAnswered, errors } = await cut;
      assert.deepEqual([isAnswered, /reset by peer/i.test(errors)], [false, true], errors);
    },
  );
}
