/**
 * A program, because it needs UDP, which tests under Deno do not have. It opens a connection
 * between two engines and leaves it idle, opens many connections that nobody answers, and applies
 * the configuration again. It fails if the idle connection does not carry bytes afterwards.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import type { MeshConfiguration } from "../../../agent-files/contract/types.ts";
import type { ByteStream } from "../../mesh/byte_stream.ts";
import type { Engine } from "../../mesh/engine/engine.ts";
import { openLocalEngine } from "../../mesh/engine/local_engine.ts";

/** More closed connections than the packet filter remembers. */
const OTHERS = 8500;

const ADDRESSES = { planner: "10.213.0.1", builder: "10.213.0.2", absent: "10.213.0.3" } as const;

const PSK = randomBytes(32).toString("base64");

type Name = keyof typeof ADDRESSES;

interface Place {
  readonly name: Name;
  readonly publicKey: string;
  readonly endpoints: readonly string[];
}

function openEngine(): Promise<Engine> {
  return openLocalEngine({ privateKey: new Uint8Array(randomBytes(32)), stunServers: [] }, {
    iceServers: () => Promise.resolve(null),
    onEndpoints: () => {},
    onFailure: (error) => assert.fail(error),
  });
}

/** The planner may reach every other place at port 80. */
function configurationOf(own: Name, places: readonly Place[]): MeshConfiguration {
  const others = places.filter(({ name }) => name !== own);
  return {
    agent_id: own,
    config_version: 1,
    interface: { addresses: [`${ADDRESSES[own]}/16`], mtu: 1280, listen_port: null },
    peers: others.map(({ name, publicKey, endpoints }) => ({
      agent_id: name,
      name,
      public_key: publicKey,
      preshared_key: PSK,
      allowed_ips: [`${ADDRESSES[name]}/32`],
      endpoints: [...endpoints],
      observed_endpoint: null,
      persistent_keepalive: 25,
    })),
    rules: (["builder", "absent"] as const).map((to) => ({
      from_agent: "planner",
      to_agent: to,
      proto: "tcp",
      port: 80,
    })),
    relay: false,
  };
}

const [planner, builder] = [await openEngine(), await openEngine()];
try {
  const places: Place[] = [];
  for (const [name, engine] of [["planner", planner], ["builder", builder]] as const) {
    places.push({ name, publicKey: engine.publicKey, endpoints: await engine.endpoints() });
  }
  places.push({ name: "absent", publicKey: randomBytes(32).toString("base64"), endpoints: [] });
  const configure = () => planner.configure(configurationOf("planner", places));
  await configure();
  await builder.configure(configurationOf("builder", places));
  const accepted = Promise.withResolvers<ByteStream>();
  await builder.listen(80, accepted.resolve);
  const idle = await planner.connect({ address: ADDRESSES.builder, port: 80 });
  const other = await accepted.promise;

  for (let count = 0; count < OTHERS; count++) {
    const controller = new AbortController();
    const { signal } = controller;
    const connecting = planner.connect({ address: ADDRESSES.absent, port: 80, signal });
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    controller.abort(new Error("Enough."));
    await assert.rejects(connecting, /Enough/);
  }
  await configure();
  await other.write(new Uint8Array([7]));
  assert.deepEqual(await idle.read(), new Uint8Array([7]));
} finally {
  await planner.close();
  await builder.close();
}
