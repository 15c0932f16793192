/** `mesh up` behind NAT: it finds a path by itself. */
import assert from "node:assert/strict";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { Mesh, peerField, putRule, TCP_443 } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { listen, reaches, untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { RelayHost } from "../../paths/hosts/relay_host.ts";
import { addSite } from "../../paths/hosts/sites.ts";
import { startUp, untilSaid } from "../hosts/typed.ts";

tunnelTest(
  "two hosts behind port-restricted routers, no relay → punched, both say so; SIGTERM → no endpoint of the program is left",
  async () => {
    await using mesh = await Mesh.create();
    const relay = await RelayHost.start(await mesh.internet.addHost("relay"));
    const members = [];
    for (const name of ["left", "right"]) {
      const { host } = await addSite(mesh.internet, name, "port-restricted");
      members.push(await mesh.join(name, { at: host }));
      mesh.attach(await ServiceDoor.open(host));
    }
    const [left, right] = members as [typeof members[0], typeof members[0]];
    await putRule({ from: left, to: right, ...TCP_443 });
    const args = ["--stun-server", `stun:${relay.host.address}:3478`];
    const options = { args, seeksPaths: true };
    const children = [await startUp(left, options), await startUp(right, options)];
    await untilPingAnswered(left.host, { address: right.ipv4 });
    await listen(right.host, TCP_443);
    await eventually("TCP passes", {
      condition: () => reaches(left.host, { ...TCP_443, address: right.ipv4 }),
    });
    for (const member of members) {
      await untilSaid(member, /by way of a program of this host, directly, at 198\.51\.100\./);
    }
    assert.match((await peerField(left, { peer: right, field: "endpoints" }))!, /^127\.0\.0\.1:/);
    for (const child of children) {
      child.kill("SIGTERM");
      assert.equal((await child.status).code, 0);
    }
    for (const { host } of members) {
      const left = Array.from(Deno.readDirSync(`${host.directory}/run`), ({ name }) => name);
      assert.deepEqual(left.filter((name) => name.endsWith(".path")), []);
      assert.equal(await host.run(["nft", "list", "tables"]), "");
    }
  },
);
