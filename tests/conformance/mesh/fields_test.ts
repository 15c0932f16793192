import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { assertInvalid, post, succeed } from "../client.ts";
import {
  agree,
  join,
  leavesUnchanged,
  meshTest,
  newPubkey,
  putRule,
  removePeer,
  ruleBetween,
  tryJoin,
} from "../mesh_cast.ts";

const LOW_ORDER_AND_NOT_REDUCED = [
  "00".repeat(32),
  "01" + "00".repeat(31),
  "ec" + "ff".repeat(30) + "7f",
  "ed" + "ff".repeat(30) + "7f",
  "ee" + "ff".repeat(30) + "7f",
  "ff".repeat(32),
  "00".repeat(31) + "80",
  "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
  "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
].map((hex) => Buffer.from(hex, "hex").toString("base64"));

const BAD_PORTS = [0, -1, 65_536, 1.5, "443", null, true, 1e300];
const BAD_AGENTS = ["", "-a", ".a", "a b", "a\n", "a/b", "ä", "a".repeat(129), 7, null];

meshTest(
  "/peer/register with a bad pubkey → 422 that names it, and nothing changes",
  async ({ alice, bob }) => {
    const { pubkey } = await join(alice);
    const spellings = [
      pubkey.slice(0, -1),
      `${pubkey}\n`,
      ` ${pubkey}`,
      pubkey.slice(0, 42) + "B=",
      Buffer.alloc(31, 9).toString("base64"),
      Buffer.alloc(33, 9).toString("base64"),
      Buffer.from(pubkey, "base64").toString("hex"),
      Buffer.alloc(32, 0xfb).fill(9, 31).toString("base64url") + "=",
      "",
    ];
    await leavesUnchanged([alice, bob], async () => {
      for (const bad of [...LOW_ORDER_AND_NOT_REDUCED, ...spellings, 7, null, undefined]) {
        assertInvalid(await tryJoin(bob, { pubkey: bad }), "pubkey");
      }
    });
  },
);

meshTest(
  "/peer/register with a listen_port of 1 to 65535 → 200; with another → 422, nothing changes",
  async ({ alice, bob }) => {
    for (const listen_port of [1, 65_535]) await join(alice, { listen_port });
    await leavesUnchanged([alice, bob], async () => {
      for (const listen_port of BAD_PORTS) {
        assertInvalid(await tryJoin(bob, { listen_port }), "listen_port");
      }
    });
  },
);

meshTest(
  "/peer/register with every field bad → 422 with one issue for each, and nothing changes",
  async ({ alice }) => {
    await join(alice);
    await leavesUnchanged([alice], async () => {
      const body = { agent_id: "not good", pubkey: "x", endpoint: "x", listen_port: 0 };
      assertInvalid(
        await post("/agent-mesh/peer/register", { as: alice, body }),
        "agent_id",
        "pubkey",
        "endpoint",
        "listen_port",
      );
      assertInvalid(await post("/agent-mesh/peer/register", { as: alice }), "pubkey");
    });
  },
);

for (const path of ["acl/put", "acl/revoke"]) {
  meshTest(
    `/${path} with a bad field → 422 that names it, and nothing changes`,
    async ({ alice, bob }) => {
      await join(alice);
      const rule = ruleBetween(alice, bob);
      const bad = {
        from_agent: BAD_AGENTS,
        to_agent: BAD_AGENTS,
        port: BAD_PORTS,
        proto: ["TCP", "icmp", "", "tcp ", 6, null],
      };
      await leavesUnchanged([alice], async () => {
        for (const [field, values] of Object.entries(bad)) {
          for (const value of [...values, undefined]) {
            const body = { ...rule, [field]: value };
            assertInvalid(await post(`/agent-mesh/${path}`, { as: "operator", body }), field);
          }
        }
      });
    },
  );
}

meshTest(
  "/acl/put with port 1 and port 65535, for tcp and for udp → 200",
  async ({ alice, bob }) => {
    for (const port of [1, 65_535]) {
      for (const proto of ["tcp", "udp"]) {
        const rule = ruleBetween(alice, bob, { port, proto });
        assert.equal((await putRule(alice, rule)).status, 200);
      }
    }
  },
);

for (const path of ["peer/register", "peer/heartbeat", "peer/remove", "netmap", "wg_config"]) {
  meshTest(
    `/${path} with a bad agent_id → 422 that names it, and nothing changes`,
    async ({ alice }) => {
      await join(alice);
      await leavesUnchanged([alice], async () => {
        for (const agent_id of BAD_AGENTS) {
          const body = { agent_id, ...path === "peer/register" && { pubkey: newPubkey() } };
          assertInvalid(await post(`/agent-mesh/${path}`, { as: "operator", body }), "agent_id");
        }
      });
    },
  );
}

meshTest(
  "/peer/heartbeat with a bad config_version → 422, and last_seen stays",
  async ({ alice }) => {
    await join(alice);
    await leavesUnchanged([alice], async () => {
      for (const config_version of [-1, 1.5, "3", null, 2 ** 53]) {
        const body = { agent_id: alice.id, config_version };
        assertInvalid(
          await post("/agent-mesh/peer/heartbeat", { as: alice, body }),
          "config_version",
        );
      }
    });
  },
);

meshTest(
  "/peer/register of an agent_id of 128 characters, with every kind that is allowed → 200",
  async () => {
    const agent_id = `A0._:@-${crypto.randomUUID()}`.padEnd(128, "z");
    const body = { agent_id, pubkey: newPubkey() };
    const peer = await succeed("/agent-mesh/peer/register", { as: "operator", body });
    assert.equal(peer["agent_id"], agent_id);
    await removePeer("operator", agent_id);
  },
);

/** Texts that a configuration would turn into a line, a command or a comment. */
const INJECTIONS = [
  "\nPostUp = touch /tmp/x",
  "\r\n[Peer]\r\n",
  "\n[Interface]\nPrivateKey = x",
  ";touch /tmp/x;",
  "$(touch /tmp/x)",
  "`touch /tmp/x`",
  " | sh",
  "\u0000",
  "\u2028",
  "#",
  "%i",
  "}",
  " ",
];

meshTest(
  "/peer/register with an injection in any field → 422, and the neighbour's configuration stays",
  async ({ alice, bob }) => {
    const good = { pubkey: newPubkey(), endpoint: "host.example:51820" };
    await join(alice);
    await join(bob, good);
    await agree(ruleBetween(alice, bob));
    const fields = { agent_id: bob.id, ...good, listen_port: "51820" };
    await leavesUnchanged([alice, bob], async () => {
      for (const [field, value] of Object.entries(fields)) {
        for (const injection of INJECTIONS) {
          for (const at of [0, 4, value.length]) {
            const hostile = value.slice(0, at) + injection + value.slice(at);
            const body = { agent_id: bob.id, ...good, [field]: hostile };
            const answer = await post("/agent-mesh/peer/register", { as: bob, body });
            assertInvalid(answer, field);
          }
        }
      }
    });
  },
);
