/** Datagrams between sandboxes and kernel hosts, and through `mesh join`. */
import assert from "node:assert/strict";
import { createAgent } from "../conformance/client.ts";
import { documentedBlock } from "../docs/blocks/documentation.ts";
import { HostAgent } from "../mesh_up/hosts/host_agent.ts";
import { type Host, untilListening } from "../wireguard/hosts/host.ts";
import { type Member, Mesh } from "../wireguard/hosts/mesh_of_hosts.ts";
import { socatAddress } from "../wireguard/hosts/probes.ts";
import { tunnelTest } from "../wireguard/hosts/requirements.ts";
import { eventually } from "../wireguard/hosts/run_program.ts";
import { SERVICE_ORIGIN, ServiceDoor } from "../wireguard/hosts/service_door.ts";
import { joinedPair } from "./hosts/kernel_host.ts";
import { allow, revokeAs } from "./hosts/sandbox.ts";
import { installed, userOn } from "./hosts/user.ts";

/** Answers every datagram with "echo " and its bytes. */
const ECHO = `
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((sys.argv[1], int(sys.argv[2])))
while True:
    data, sender = server.recvfrom(2000)
    server.sendto(b"echo " + data, sender)
`;

/** Answers every DNS query with the address 192.0.2.53. */
const DNS_SERVER = `
import socket
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("0.0.0.0", 53))
while True:
    query, sender = server.recvfrom(2000)
    question = query[12:query.index(0, 12) + 5]
    head = query[:2] + bytes.fromhex("81800001000100000000")
    answer = bytes.fromhex("c00c000100010000003c0004c0000235")
    server.sendto(head + question + answer, sender)
`;

/** A SOCKS5 client: sends "hello" to a name's port 53, until there is an answer. */
const SOCKS_CLIENT = `
import socket, struct, sys
from urllib.parse import urlparse
url = urlparse(sys.argv[1])
control = socket.create_connection((url.hostname, url.port))
user, password = url.username.encode(), url.password.encode()
control.sendall(b"\\x05\\x01\\x02\\x01" + bytes([len(user)]) + user + bytes([len(password)]) + password)
control.sendall(b"\\x05\\x03\\x00\\x01" + bytes(6))
answer = b""
while len(answer) < 14: answer += control.recv(14 - len(answer))
assert answer[:5] == b"\\x05\\x02\\x01\\x00\\x05" and answer[5] == 0, answer
relay = (socket.inet_ntoa(answer[8:12]), struct.unpack(">H", answer[12:])[0])
name = sys.argv[2].encode()
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.settimeout(1)
for attempt in range(20):
    port = struct.pack(">H", int(sys.argv[3]))
    datagrams.sendto(b"\\x00\\x00\\x00\\x03" + bytes([len(name)]) + name + port + b"hello", relay)
    try:
        print(datagrams.recv(2000)[10:].decode())
        break
    except TimeoutError:
        pass
`;

function python(host: Host, program: string, args: readonly string[], logName: string): void {
  host.start(["python3", "-u", "-c", program, ...args], { logName });
}

/** The answer that a kernel host gets to a datagram: text, an error, or nothing. */
async function answerTo({ host }: Member, address: string, port: number): Promise<string> {
  const target = socatAddress({ proto: "udp", address, port });
  const { output, errors } = await host.runAnyhow(["socat", "-t2", "-T2", "-", target], {
    input: "hello",
  });
  return output + errors;
}

for (const runtime of ["deno", "node"] as const) {
  tunnelTest(
    `mesh.udp under ${runtime} ↔ a kernel's host → datagrams both ways, by name, IPv4 and IPv6, by rule only; a revoked rule ends it`,
    async () => {
      await using mesh = await Mesh.create();
      const { builder, sandbox } = await joinedPair(mesh, { runtime });
      python(builder.host, ECHO, [builder.ipv4, "53"], "echo");
      await untilListening(builder.host, { proto: "udp", port: 53 });
      const ask = (host: string, port: number, text: string) =>
        sandbox.tell<{ answer?: string; from?: object; error?: { code: string } }>({
          do: "askUdp",
          host,
          port,
          text,
        });
      await eventually("the sandbox knows of the host", {
        condition: async () => (await sandbox.peers()).length > 0,
      });
      const [peer] = await sandbox.peers();
      const codeOf = async (host: string, port: number, text: string) =>
        await ask(host, port, text).then(() => "none", (error) => String(error.message));
      assert.match(await codeOf(peer!.name, 443, "tcp only"), /no_rule/);
      assert.match(await codeOf("nobody", 443, ""), /unknown_peer/);

      const out = { from: sandbox, to: builder, port: 53, proto: "udp" } as const;
      await allow(out);
      await eventually("the rule has arrived", {
        condition: async () => await codeOf(peer!.name, 53, "") === "none",
      });
      for (const [host, text] of [[peer!.name, "by name"], [builder.ipv4, "x".repeat(1200)]]) {
        const { answer, from } = await ask(host!, 53, text!);
        assert.equal(answer, `echo ${text}`);
        const { agent: { id: agentId }, ipv4: address } = builder;
        assert.deepEqual(from, { agentId, name: peer!.name, address, port: 53 });
      }
      assert.match(await codeOf(peer!.name, 53, "x".repeat(1253)), /too_large/);

      await sandbox.tell({ do: "serveUdp", port: 5353 });
      assert.equal(await answerTo(builder, sandbox.ipv4, 5353), "");
      const into = { from: builder, to: sandbox, port: 5353, proto: "udp" } as const;
      await allow(into);
      for (const address of [sandbox.ipv4, sandbox.ipv6]) {
        await eventually(`the host gets an answer of ${address}`, {
          condition: async () =>
            await answerTo(builder, address, 5353) === `${builder.agent.id}: hello`,
        });
      }
      // The kernel reports that nothing listens there, as of any host.
      await allow({ ...into, port: 5354 });
      await eventually("a port where nothing listens is refused", {
        condition: async () => /refused/.test(await answerTo(builder, sandbox.ipv4, 5354)),
      });

      await revokeAs(builder.agent, into);
      await eventually("the sandbox answers no more", {
        condition: async () => await answerTo(builder, sandbox.ipv4, 5353) === "",
      });
      await revokeAs(sandbox.agent, out);
      await eventually("the sandbox sends no more", {
        condition: async () => /no_rule/.test(await codeOf(peer!.name, 53, "")),
      });
    },
  );
}

tunnelTest(
  "docs/sandbox.md, UDP for programs, by a user without rights → a DNS client by --forward-udp, a SOCKS5 client, a program that is exposed; a revoked rule ends it",
  async () => {
    await using command = await installed();
    await using mesh = await Mesh.create();
    const builder = await mesh.join("builder");
    const host = await mesh.internet.addHost("sandbox");
    mesh.attach(await ServiceDoor.open(host));
    const agent = await createAgent("sandbox");
    const rule = { from: { agent }, to: builder, port: 53, proto: "udp" } as const;
    await allow(rule);
    await allow({ from: builder, to: { agent }, port: 9000, proto: "udp" });
    python(builder.host, DNS_SERVER, [], "dns");
    await untilListening(builder.host, { proto: "udp", port: 53 });
    await HostAgent.start(builder, { mesh });

    const user = await userOn(host, { agent, folder: command.folder });
    const name = builder.agent.id;
    const block = (await documentedBlock("docs/sandbox.md, UDP for programs, 1"))
      .replace("dns:53", `${name}:53`)
      .trimEnd();
    const login = `agentfiles login --url ${SERVICE_ORIGIN} <<< "$KEY"`;
    user.start(`${login}; ${block} --flows flows.jsonl --json > joined.json`, "join");
    await eventually("the agent has joined", {
      condition: async () => (await user.read("joined.json")).endsWith("\n"),
    }).catch(async (error) => assert.fail(`${error.message}\n${await host.readLog("join")}`));
    const joined = JSON.parse(await user.read("joined.json"));
    assert.deepEqual(joined.udp_forwards, ["127.0.0.1:5353"]);

    const lookUp = `const { Resolver } = require("node:dns/promises");
      const resolver = new Resolver({ timeout: 1000, tries: 3 });
      resolver.setServers(["127.0.0.1:5353"]);
      resolver.resolve4("example.com").then(([address]) => console.log(address),
        ({ code }) => console.log(code));`;
    const resolved = async () => (await user.run(`node -e '${lookUp}'`)).output;
    await eventually("a DNS client gets an answer", {
      condition: async () => await resolved() === "192.0.2.53\n",
    });

    await Deno.writeTextFile(`${command.folder}/socks.py`, SOCKS_CLIENT, { mode: 0o644 });
    python(builder.host, ECHO, [builder.ipv4, "54"], "echo");
    await allow({ ...rule, port: 54 });
    const { output, errors } = await user.run(
      `python3 ${command.folder}/socks.py '${joined.socks}' ${name} 54`,
    );
    assert.equal(output, "echo hello\n", errors);

    python(host, ECHO, ["127.0.0.1", "9001"], "local");
    await eventually("the host reaches the program that is exposed", {
      condition: async () => await answerTo(builder, joined.addresses[0], 9000) === "echo hello",
    });

    await revokeAs(agent, rule);
    await eventually("the DNS client gets no answer", {
      condition: async () => await resolved() === "ETIMEOUT\n",
    });
    const flows = (await user.read("flows.jsonl")).trim().split("\n").map((line) =>
      JSON.parse(line)
    );
    const isThere = (direction: string, port: number, reason: string) =>
      flows.some((flow) =>
        flow.proto === "udp" && flow.direction === direction && flow.port === port &&
        flow.reason === reason
      );
    assert.ok(isThere("out", 53, "rule_revoked"), JSON.stringify(flows));
    assert.ok(isThere("out", 53, "no_rule"), JSON.stringify(flows));
  },
);
