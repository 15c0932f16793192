import assert from "node:assert/strict";
import { stackEnvironment } from "../../../local/stack/stack.ts";
import { withOwnStack } from "../../../../tests/database/own_stack.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";

Deno.test("agentops mesh network → shows the networks, sets the IPv4 network while there is no peer, and is refused after that", async () => {
  await withOwnStack(async ({ stack, sql }) => {
    const run = (...args: string[]) =>
      runTask("agentops mesh network", { args, environment: stackEnvironment(stack) });
    const settings = () => sql`select ipv4_network, ipv6_network from mesh.settings`;
    const [first] = await settings();
    const { ipv4_network, ipv6_network } = first!;
    const ipv6 = `IPv6: ${ipv6_network}`;
    const empty = "There is no peer: agentops mesh network CIDR sets another IPv4 network.";
    const usage = "0 of 65534 addresses used";

    const shown = await run();
    assert.deepEqual([shown.code, shown.output.trimEnd().split("\n")], [
      0,
      [`IPv4: ${ipv4_network}, ${usage}`, ipv6, empty],
    ]);

    for (const wrong of ["10.200.0.1/16", "fd00::/64"]) {
      const refused = await run(wrong);
      assert.deepEqual([refused.code, refused.output], [1, ""]);
      assert.match(refused.errors, /ipv4_network: Must be an IPv4 network in CIDR notation/);
    }
    assert.equal((await run("10.200.0.0/16", "--random")).code, 2);
    assert.deepEqual([...await settings()], [first]);

    const set = await run("10.200.0.0/16", "--json");
    assert.deepEqual([set.code, JSON.parse(set.output)], [0, {
      ipv4_network: "10.200.0.0/16",
      ipv6_network,
      has_peers: false,
      leased: 0,
      size: 65_534,
    }]);
    assert.equal((await run("--random")).code, 0);
    const [drawn] = await settings();
    assert.match(drawn?.["ipv4_network"], /^10\.(4[89]|[567][0-9]|11[2-9]|12[0-7])\.0\.0\/16$/);

    await sql`select mesh.lease_addresses('alpha')`;
    await sql`insert into mesh.peers (agent_id, pubkey) values ('alpha', ${`${"A".repeat(43)}=`})`;
    for (const args of [["10.201.0.0/16"], ["--random"]]) {
      const refused = await run(...args);
      assert.deepEqual([refused.code, refused.output], [1, ""]);
      assert.match(refused.errors, /cannot change while there are peers.*Nothing was changed\./s);
    }
    assert.deepEqual([...await settings()], [drawn]);
    assert.match((await run()).output, /\nThe IPv4 network cannot change while there are peers\.$/);
  });
});
