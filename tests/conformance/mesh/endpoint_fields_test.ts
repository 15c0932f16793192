import assert from "node:assert/strict";
import { assertInvalid } from "../client.ts";
import { join, leavesUnchanged, meshTest, tryJoin } from "../mesh_cast.ts";

const LABEL_OF_63 = "a".repeat(63);
const NAME_OF_253 = `${`${LABEL_OF_63}.`.repeat(3)}${"a".repeat(61)}`;

/** Endpoints as sent, each with the form in which it is returned. */
const GOOD_ENDPOINTS: Readonly<Record<string, string>> = {
  "203.0.113.7:1": "203.0.113.7:1",
  "203.0.113.7:65535": "203.0.113.7:65535",
  "192.168.1.1:51820": "192.168.1.1:51820",
  "[2001:db8::7]:51820": "[2001:db8::7]:51820",
  "[2001:0DB8:0:0:0:0:0:7]:51820": "[2001:db8::7]:51820",
  "[::ffff:203.0.113.7]:51820": "203.0.113.7:51820",
  "host.example:51820": "host.example:51820",
  "HOST.Example:51820": "host.example:51820",
  "localhost.example:51820": "localhost.example:51820",
  "[64:ff9b::203.0.113.7]:51820": "[64:ff9b::cb00:7107]:51820",
  "xn--bcher-kva.example:51820": "xn--bcher-kva.example:51820",
  "1host.2example:51820": "1host.2example:51820",
  [`${NAME_OF_253}:51820`]: `${NAME_OF_253}:51820`,
};

const BAD_ENDPOINTS = [
  "",
  "203.0.113.7",
  ":51820",
  "203.0.113.7:",
  "203.0.113.7:0",
  "203.0.113.7:65536",
  "203.0.113.7:051820",
  "203.0.113.7:+1",
  "203.0.113.7:0x10",
  "203.0.113.7: 1",
  " 203.0.113.7:1",
  "203.0.113.7:1\n",
  "203.0.113.7:1\nPostUp = id",
  "203.0.113.7:1 # x",
  "127.1:51820",
  "0x7f.1:51820",
  "3232235521:51820",
  "0xc0a80101:51820",
  "203.0.113.07:51820",
  "203.0.113.256:51820",
  "203.0.113:51820",
  "203.0.113.7.9:51820",
  "2001:db8::7:51820",
  "[2001:db8::7]",
  "[2001:db8::7%eth0]:51820",
  "[fe80::1%2]:51820",
  "[2001:db8::g]:51820",
  "[203.0.113.7]:51820",
  "[host.example]:51820",
  "host_name.example:51820",
  "-host.example:51820",
  "host-.example:51820",
  "host..example:51820",
  "host.example.:51820",
  ".example:51820",
  "host.123:51820",
  "bücher.example:51820",
  `${LABEL_OF_63}a.example:51820`,
  `${NAME_OF_253}a:51820`,
  "user@host.example:51820",
  "host.example/x:51820",
  "0.0.0.0:51820",
  "127.0.0.1:51820",
  "127.255.0.1:51820",
  "169.254.1.1:51820",
  "224.0.0.1:51820",
  "239.255.255.255:51820",
  "255.255.255.255:51820",
  "[::]:51820",
  "[::1]:51820",
  "[fe80::1]:51820",
  "[febf::1]:51820",
  "[ff02::1]:51820",
  "[::ffff:127.0.0.1]:51820",
  "[::ffff:0.0.0.0]:51820",
  "[::ffff:169.254.1.1]:51820",
  "[::ffff:ffff:ffff]:51820",
  "240.0.0.1:51820",
  "254.1.2.3:51820",
  "[fec0::1]:51820",
  "[::127.0.0.1]:51820",
  "[::240.0.0.1]:51820",
  "[64:ff9b::127.0.0.1]:51820",
  "[64:ff9b::a9fe:1]:51820",
  "[64:ff9b::10.0.0.1]:51820",
  "[64:ff9b::192.168.1.1]:51820",
  "localhost:51820",
  "LOCALHOST:51820",
  "db.localhost:51820",
  "a\ud800.example:51820",
  7,
  true,
  {},
];

meshTest(
  "/peer/register with a good endpoint → 200, given back in its canonical form",
  async ({ alice }) => {
    for (const [endpoint, canonical] of Object.entries(GOOD_ENDPOINTS)) {
      assert.equal((await join(alice, { endpoint })).endpoint, canonical, endpoint);
    }
  },
);

meshTest(
  "/peer/register with a bad endpoint → 422 that names it, and nothing changes",
  async ({ alice, bob }) => {
    await join(alice, { endpoint: "203.0.113.7:51820" });
    await leavesUnchanged([alice, bob], async () => {
      for (const endpoint of BAD_ENDPOINTS) {
        for (const agent of [alice, bob]) {
          assertInvalid(await tryJoin(agent, { endpoint }), "endpoint");
        }
      }
    });
  },
);
