import assert from "node:assert/strict";
import { parseState } from "../../forwarding/kernel.ts";
import { isInside } from "../../forwarding/places.ts";
import { headerOf } from "../../forwarding/datagrams/messages.ts";
import {
  formatPathState,
  parsePathState,
  type PathState,
} from "../../forwarding/agent/path_file.ts";
import { parseNetwork } from "../../wireguard/routing/networks.ts";
import { message } from "./messages.ts";

Deno.test("WireGuard's messages → their types and indices; anything else → null", () => {
  assert.deepEqual(headerOf(message(1, 7)), { type: "initiation", sender: 7 });
  assert.deepEqual(headerOf(message(2, 7, 9)), { type: "response", sender: 7, receiver: 9 });
  assert.deepEqual(headerOf(message(3, 7)), { type: "cookie", receiver: 7 });
  assert.deepEqual(headerOf(message(4, 0xffffffff)), { type: "data", receiver: 0xffffffff });
  for (
    const other of [new Uint8Array(0), new Uint8Array(1), message(5, 7), message(1, 7).slice(1)]
  ) assert.equal(headerOf(other), null);
});

Deno.test("what `wg show` prints → the peers; a peer without endpoint and handshake → nulls", () => {
  const shown = [
    "own=\n",
    "51820\n",
    "a=\t[2001:db8::1]:7\nb=\t(none)\n",
    "a=\t9\nb=\t0\n",
    "a=\t5\t6\n",
  ];
  assert.deepEqual(parseState(shown), {
    publicKey: "own=",
    listenPort: 51820,
    peers: [
      { publicKey: "a=", endpoint: "[2001:db8::1]:7", lastHandshakeAt: 9000, receivedBytes: 5 },
      { publicKey: "b=", endpoint: null, lastHandshakeAt: null, receivedBytes: 0 },
    ],
  });
});

Deno.test("the state file, written and read → the same; lines of other kinds → left out", () => {
  const at = { publicKey: "a=", endpoint: "127.0.0.1:4000" };
  const state: PathState = {
    endpoints: ["192.0.2.1:4", "[2001:db8::1]:4"],
    peers: [
      { ...at, via: "relay", outer: "192.0.2.9:1", before: null },
      { ...at, publicKey: "b=", via: "none", outer: null, before: "192.0.2.8:51820" },
    ],
    sought: ["b=", "c="],
  };
  assert.deepEqual(parsePathState(formatPathState(state)), state);
  assert.deepEqual(parsePathState("x\npeer a= 127.0.0.1:1 sideways - -\npeer a=\nseeking\n"), {
    endpoints: [],
    peers: [],
    sought: [],
  });
});

Deno.test("addresses of the mesh's networks → inside; others, of both families → not", () => {
  const networks = ["10.213.0.1/16", "fd06:b494:9d7a::1/64"].map(parseNetwork);
  for (const address of ["10.213.255.9", "fd06:b494:9d7a::2"]) {
    assert.ok(isInside(address, networks));
  }
  for (const address of ["10.214.0.1", "2001:db8::1", "no address"]) {
    assert.ok(!isInside(address, networks));
  }
});
