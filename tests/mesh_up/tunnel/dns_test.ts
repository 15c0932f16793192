/** Names in the domain mesh.internal: by the hosts file, by DNS, and by systemd-resolved. */
import assert from "node:assert/strict";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { type Host, untilListening } from "../../wireguard/hosts/host.ts";
import { type Member, Mesh, putRule } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { USUAL } from "../hosts/command_line.ts";
import { runDirectoryOf } from "../hosts/settings.ts";
import { agentfiles, startUp, untilSaid } from "../hosts/typed.ts";

const HOSTS = "127.0.0.1\tlocalhost\n# the last line has no end\n192.0.2.7 printer";
const WEB = 8080;

tunnelTest(
  "curl http://<name>.mesh.internal after mesh up → the peer's answer, also with DNS alone; mesh down → /etc/hosts as before",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob, name } = await twoHosts(mesh);
    const file = `/etc/netns/${alice.host.namespace}/hosts`;
    await Deno.writeTextFile(file, HOSTS);
    await startUp(alice, { environment: { HOSTS_FILE: USUAL } });
    await startUp(bob);
    await untilSaid(alice, "names of peers are answered at 127.0.0.55:53, by DNS");
    await untilPingAnswered(alice.host, { address: bob.ipv4 });
    await serveWeb(bob.host);

    const url = `http://${name}.mesh.internal:${WEB}/`;
    assert.equal(await alice.host.run(["curl", "-sS", "--max-time", "20", url]), "hello");
    const getent = await alice.host.run(["getent", "ahostsv6", `${name}.mesh.internal`]);
    assert.ok(getent.startsWith(`${bob.ipv6} `), getent);
    const names = ["A", "AAAA", "MX"].map((type) => [type, `${name}.mesh.internal`]);
    assert.deepEqual(
      await resolved(alice.host, [...names, ["A", "nobody.mesh.internal"], ["A", "example.com"]]),
      [[bob.ipv4], [bob.ipv6], "ENODATA", "ENOTFOUND", "EREFUSED"],
    );

    await agentfiles(alice, ["mesh", "down", ...placeOf(alice)]);
    assert.equal(await Deno.readTextFile(file), HOSTS);
    assert.deepEqual(await resolved(alice.host, names.slice(0, 1)), ["ECONNREFUSED"]);
  },
);

tunnelTest(
  "killed, and the interface is gone, as after a reboot → mesh down removes the names",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob, name } = await twoHosts(mesh);
    const file = `/etc/netns/${alice.host.namespace}/hosts`;
    await Deno.writeTextFile(file, HOSTS);
    const child = await startUp(alice, { environment: { HOSTS_FILE: USUAL } });
    await untilSaid(alice, "is applied");
    await eventually("the file has bob's name", {
      condition: async () =>
        (await Deno.readTextFile(file)).includes(`${bob.ipv4} ${name}.mesh.internal ${name}\n`),
    });
    child.kill("SIGKILL");
    await child.status;
    await alice.host.run(["ip", "link", "delete", alice.interfaceName]);
    const { output } = await agentfiles(alice, ["mesh", "down", ...placeOf(alice)]);
    assert.equal(output, `${alice.interfaceName} was not up\n`);
    assert.equal(await Deno.readTextFile(file), HOSTS);
  },
);

tunnelTest(
  "a host that asks systemd-resolved → it is told of the name server, for this domain only, and again if it forgets; /etc/hosts stays",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob, name } = await twoHosts(mesh);
    const { namespace, directory } = alice.host;
    await Deno.writeTextFile(`/etc/netns/${namespace}/hosts`, HOSTS);
    await Deno.writeTextFile(`/etc/netns/${namespace}/resolv.conf`, "nameserver 127.0.0.53\n");
    const told = `${directory}/told`;
    const forgets = `${directory}/forgets`;
    await startUp(alice, {
      environment: { HOSTS_FILE: USUAL, ...await recorder(alice.host, { told, forgets }) },
      // What systemd-resolved keeps is in a folder that all hosts of a test would share.
      before: [
        "sh",
        "-c",
        'mkdir -p /run/systemd && mount -t tmpfs none /run/systemd && exec "$@"',
        "sh",
      ],
    });
    const { interfaceName } = alice;
    const lines = [
      `dns ${interfaceName} 127.0.0.55:53`,
      `domain ${interfaceName} ~mesh.internal`,
      `dnssec ${interfaceName} no`,
      `dnsovertls ${interfaceName} no`,
      `default-route ${interfaceName} no`,
      "",
    ].join("\n");
    await untilTold(told, lines);
    assert.deepEqual(await resolved(alice.host, [["A", `${name}.mesh.internal`]]), [[bob.ipv4]]);
    assert.equal(await Deno.readTextFile(`/etc/netns/${namespace}/hosts`), HOSTS);

    await Deno.writeTextFile(told, "");
    await Deno.writeTextFile(forgets, "");
    await untilTold(told, lines);
    await agentfiles(alice, ["mesh", "down", ...placeOf(alice)]);
    assert.equal(await Deno.readTextFile(`/etc/netns/${namespace}/hosts`), HOSTS);
  },
);

tunnelTest(
  "a host that asks systemd-resolved, but it does not run → the names are in /etc/hosts",
  async () => {
    await using mesh = await Mesh.create();
    const { alice, bob, name } = await twoHosts(mesh);
    const { namespace, directory } = alice.host;
    await Deno.writeTextFile(`/etc/netns/${namespace}/resolv.conf`, "nameserver 127.0.0.53\n");
    await Deno.mkdir(`${directory}/programs`);
    await Deno.writeTextFile(`${directory}/programs/resolvectl`, "#!/bin/sh\nexit 1\n", {
      mode: 0o755,
    });
    const environment = {
      HOSTS_FILE: USUAL,
      PATH: `${directory}/programs:${Deno.env.get("PATH")}`,
    };
    await startUp(alice, { environment });
    await eventually("the file has bob's name", {
      condition: async () =>
        (await Deno.readTextFile(`/etc/netns/${namespace}/hosts`))
          .includes(`${bob.ipv4} ${name}.mesh.internal ${name}\n`),
    });
  },
);

/** A rule lets alice reach bob's web server. `name` is bob's. */
async function twoHosts(mesh: Mesh) {
  const [alice, bob] = [await mesh.join("alice"), await mesh.join("bob")];
  await putRule({ from: alice, to: bob, proto: "tcp", port: WEB });
  for (const { host } of [alice, bob]) mesh.attach(await ServiceDoor.open(host));
  const { peers } = await mesh.deployment.ask<{ peers: { agent_id: string; name: string }[] }>(
    "/agent-mesh/netmap",
    { as: alice.agent },
  );
  return { alice, bob, name: peers.find(({ agent_id }) => agent_id === bob.agent.id)!.name };
}

/** Stands in for `resolvectl`: writes down its arguments, and keeps what systemd-resolved keeps. */
async function recorder(
  { directory }: Host,
  { told, forgets }: { readonly told: string; readonly forgets: string },
): Promise<{ PATH: string }> {
  const folder = `${directory}/programs`;
  await Deno.mkdir(folder);
  const script = `#!/bin/sh
echo "$@" >> ${told}
kept=/run/systemd/resolve/netif
mkdir -p $kept
file=$kept/$(cat "/sys/class/net/$2/ifindex")
[ "$1" != domain ] || echo "DOMAINS=$3" > "$file"
# Once, a while after it was told everything.
[ "$1" != default-route ] || (
  until [ -e ${forgets} ]; do sleep 0.2; done
  rm ${forgets} "$file"
) > /dev/null 2>&1 < /dev/null &
`;
  await Deno.writeTextFile(`${folder}/resolvectl`, script, { mode: 0o755 });
  return { PATH: `${folder}:${Deno.env.get("PATH")}` };
}

async function untilTold(told: string, lines: string): Promise<void> {
  await eventually("systemd-resolved is told", {
    condition: async () => await Deno.readTextFile(told).catch(() => "") === lines,
  });
}

/** What the resolver of Node finds at the usual place: addresses, or the code of its error. */
async function resolved(host: Host, questions: readonly (readonly string[])[]): Promise<unknown> {
  const program = `
    const { Resolver } = require("node:dns/promises");
    const resolver = new Resolver({ timeout: 2000, tries: 3 });
    resolver.setServers(["127.0.0.55:53"]);
    const find = ([type, name]) => resolver.resolve(name, type).catch(({ code }) => code);
    Promise.all(${JSON.stringify(questions)}.map(find))
      .then((found) => console.log(JSON.stringify(found)));`;
  return JSON.parse(await host.run(["node", "-e", program]));
}

async function serveWeb(host: Host): Promise<void> {
  const program = `require("node:http").createServer((_, to) => to.end("hello")).listen(${WEB})`;
  host.start(["node", "-e", program], { logName: "web" });
  await untilListening(host, { proto: "tcp", port: WEB });
}

function placeOf({ host, interfaceName }: Member): string[] {
  return ["--interface", interfaceName, "--run-dir", runDirectoryOf(host)];
}
