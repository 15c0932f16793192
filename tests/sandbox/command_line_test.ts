import assert from "node:assert/strict";
import { type Agent, createAgent, succeed } from "../conformance/client.ts";
import { documentedBlock } from "../docs/blocks/documentation.ts";
import { HostAgent } from "../mesh_up/hosts/host_agent.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { type Host, untilListening } from "../wireguard/hosts/host.ts";
import { Mesh } from "../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { SERVICE_ORIGIN, ServiceDoor } from "../wireguard/hosts/service_door.ts";
import { allow } from "./hosts/sandbox.ts";
import { installed, userOn } from "./hosts/user.ts";

/** Serves the text of a file over HTTP on a port of all addresses of the host. */
async function serveHttp(host: Host, { port, text }: { port: number; text: string }) {
  const folder = `${host.directory}/www-${port}`;
  await Deno.mkdir(folder);
  await Deno.writeTextFile(`${folder}/index.html`, text);
  const program = ["python3", "-m", "http.server", String(port), "--bind", "::"];
  host.start([...program, "--directory", folder], { logName: `http-${port}` });
  await untilListening(host, { proto: "tcp", port });
}

tunnelTest(
  "docs/sandbox.md by a user without rights: log in, join, curl by SOCKS and by HTTP; a port that is exposed to a host",
  async () => {
    await using command = await installed();
    await using mesh = await Mesh.create();
    const builder = await mesh.join("builder");
    const host = await mesh.internet.addHost("sandbox");
    mesh.attach(await ServiceDoor.open(host));
    const agent = await createAgent("sandbox");
    for (const port of [8080, 8081]) await allow({ from: { agent }, to: builder, port });
    await serveHttp(builder.host, { port: 8080, text: "from the builder\n" });
    await HostAgent.start(builder, { mesh });

    const user = await userOn(host, { agent, folder: command.folder });
    const [name] = await peerNames(builder.agent);
    const block = (await documentedBlock("docs/sandbox.md, For any program, 1"))
      .replace("https://<ref>.supabase.co", `${SERVICE_ORIGIN} <<< "$KEY"`)
      .replace(
        " --json",
        ` --expose 9000=9001 --forward 0=${name}:8080 --dns 0 --flows flows.jsonl --json`,
      )
      .replace("curl ", "curl -sS --retry 5 --retry-all-errors -o first ")
      .replace("http://builder:", `http://${name}:`);
    user.start(`${block}; wait`, "block");
    await eventually("the first bytes have arrived", {
      condition: async () => await user.read("first") === "from the builder\n",
    }).catch(async (error) => assert.fail(`${error.message}\n${await host.readLog("block")}`));
    const joined = JSON.parse(await user.read("joined.json"));
    assert.deepEqual(Object.keys(joined), [
      "agent_id",
      "name",
      "addresses",
      "socks",
      "http_proxy",
      "forwards",
      "udp_forwards",
      "dns",
    ]);
    assert.equal(joined.agent_id, agent.id);
    assert.match(joined.socks, /^socks5h:\/\/mesh:[\w-]{20,}@127\.0\.0\.1:1080$/);

    const [forwarded] = joined.forwards;
    assert.match(forwarded, /^127\.0\.0\.1:\d+$/);
    const direct = await user.run(`curl -sS http://${forwarded}/`);
    assert.equal(direct.output, "from the builder\n");

    const url = `http://${builder.ipv4}:8080/`;
    for (const options of [`-x ${joined.http_proxy}`, `-p -x ${joined.http_proxy}`]) {
      const { output } = await user.run(`curl -sS ${options} ${url}`);
      assert.equal(output, "from the builder\n", options);
    }
    for (const proxy of [joined.http_proxy, joined.socks]) {
      const { output } = await user.run(`curl -sS -x ${proxy} http://${name}.mesh.internal:8080/`);
      assert.equal(output, "from the builder\n", proxy);
    }
    const lookUp = `const resolver = new (require("node:dns/promises").Resolver)();
      resolver.setServers(["${joined.dns}"]);
      resolver.resolve4("${name}.mesh.internal").then(([address]) => console.log(address));`;
    assert.equal((await user.run(`node -e '${lookUp}'`)).output, `${builder.ipv4}\n`);
    for (
      const [options, refused] of [
        [`-x http://127.0.0.1:3128 ${url}`, "407"],
        [`-x socks5h://127.0.0.1:1080 ${url}`, "000"],
        [`-x ${joined.http_proxy} http://${builder.ipv4}:81/`, "403"],
        [`-x ${joined.http_proxy} http://nobody:8080/`, "502"],
      ] as const
    ) {
      const { output } = await user.run(`curl -s -o /dev/null -w '%{http_code}' ${options}`);
      assert.equal(output, refused, options);
    }

    const probe = (await documentedBlock("docs/sandbox.md, Why a port is not reached, 1"))
      .replace("builder", name!);
    const places = [[probe, "none"], [probe.replace("8080", "8081"), "nothing_listens"]] as const;
    for (const [command, cause] of places) {
      const { output, errors } = await user.run(`${command.trim()} --json`);
      assert.equal(JSON.parse(output || "{}").cause, cause, errors);
      assert.ok(!output.includes(new URL(joined.http_proxy).password), "the token is not told");
    }

    await serveHttp(host, { port: 9001, text: "from the sandbox\n" });
    await allow({ from: builder, to: { agent }, port: 9000 });
    await eventually("the host reaches the port that is exposed", {
      condition: async () => {
        const request = ["curl", "-s", "-m5", `http://${joined.addresses[0]}:9000/`];
        return (await builder.host.runAnyhow(request)).output === "from the sandbox\n";
      },
    });

    const counted = await user.run(await documentedBlock("docs/sandbox.md, Flow log, 1"));
    // Before the rule, the host may have been refused.
    const served = /^in\t.*\t9000\t[1-9]\d*\t0\t\d+\t\d+ B\t[1-9]\d* B\t(\d+ no rule)?$/m;
    assert.match(counted.output, served, counted.errors);
    assert.match(counted.output, new RegExp(`^out\t${builder.agent.id}\t8080\t[1-9]`, "m"));
    assert.match(counted.output, new RegExp(`^out\t${name}\t81\tno_rule\t1$`, "m"));
    assert.match(counted.output, /^out\tnobody\t8080\tunknown_peer\t1$/m);
    const log = await user.read("flows.jsonl");
    for (const url of [joined.socks, joined.http_proxy]) {
      assert.ok(!log.includes(new URL(url).password), "no token is in the file");
    }

    user.start(
      "agentfiles mesh join --socks 127.0.0.1:0 --flows /dev/full > second 2> full",
      "second",
    );
    await eventually("a second process says what is carried", {
      condition: async () => /^Joined as .*\nSOCKS5/.test(await user.read("second")),
    });
    const [proxy] = /socks5h:\S+/.exec(await user.read("second")) ?? [];
    for (let round = 0; round < 2; round++) {
      const { output } = await user.run(`curl -sS -x ${proxy} ${url}`);
      assert.equal(output, "from the builder\n", "a full disk loses no connection");
    }
    assert.match(await user.read("full"), /^The flows are not all written to \/dev\/full: .*\n$/);
  },
);

/** The names in an agent's map, its own name first. */
async function peerNames(agent: Agent): Promise<string[]> {
  const { peers } = await succeed<{ peers: { name: string; self: boolean }[] }>(
    "/agent-mesh/netmap",
    { as: agent },
  );
  return peers.toSorted((one, other) => Number(other.self) - Number(one.self))
    .map(({ name }) => name);
}
