/**
 * Many sandbox peers in one process. Each joins, waits until it sees all others, and then asks some
 * of them. Writes a line of JSON for each step; ends when its standard input ends.
 */
import process from "node:process";
import { openLocalEngine } from "../../../packages/agent-peer/mesh/engine/local_engine.ts";
import { joinWith } from "../../../packages/agent-peer/mesh/join.ts";
import type { Mesh } from "../../../packages/agent-peer/mesh/mesh.ts";

/** The fourth argument of the process, as JSON. */
export interface FleetPart {
  readonly url: string;
  /** Of the mesh. */
  readonly port: number;
  readonly keys: readonly string[];
  /** How many peers each sees in the end. */
  readonly others: number;
  /** How many of them each connects to. */
  readonly dials: number;
}

/** Requests to the service so far, with the bytes of their bodies. */
export interface Traffic {
  requests: number;
  sentBytes: number;
  receivedBytes: number;
}

/** What a line tells. `dialMs` and `failures`: of the connections between peers. */
export type FleetLine =
  | { readonly joined: number }
  | { readonly seen: Traffic }
  | { readonly dialMs: readonly number[]; readonly failures: readonly string[] };

const traffic: Traffic = { requests: 0, sentBytes: 0, receivedBytes: 0 };

const counted: typeof fetch = async (input, init) => {
  traffic.requests += 1;
  traffic.sentBytes += String(init?.body ?? "").length;
  const response = await fetch(input, init);
  const body = await response.arrayBuffer();
  traffic.receivedBytes += body.byteLength;
  return new Response(body, response);
};

async function joinOne({ url, port }: FleetPart, key: string): Promise<Mesh> {
  const mesh = await joinWith(openLocalEngine, { url, key, fetch: counted });
  await mesh.listenNet(port, (socket) => void socket.on("error", () => {}).pipe(socket));
  return mesh;
}

/** Resolves when the peer has sent back a byte. */
async function ask(mesh: Mesh, host: string, port: number): Promise<void> {
  const socket = await mesh.connectNet({ host, port, signal: AbortSignal.timeout(60_000) });
  await new Promise((resolve, reject) => {
    socket.once("data", resolve).once("error", reject);
    socket.write("?");
  });
  socket.end();
}

function tell(line: FleetLine): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

const part: FleetPart = JSON.parse(process.argv[2]!);
const fleet: Mesh[] = [];
for (let first = 0; first < part.keys.length; first += 8) {
  const keys = part.keys.slice(first, first + 8);
  fleet.push(...await Promise.all(keys.map((key) => joinOne(part, key))));
}
tell({ joined: fleet.length });
while (!fleet.every((mesh) => mesh.peers().length === part.others)) {
  await new Promise((resolve) => setTimeout(resolve, 100));
}
tell({ seen: { ...traffic } });

for await (const _ of process.stdin.setEncoding("utf8")) {
  const dialMs: number[] = [];
  const failures: string[] = [];
  for (const mesh of fleet) {
    const peers = mesh.peers();
    for (let dial = 0; dial < part.dials; dial++) {
      const { name } = peers[Math.floor(Math.random() * peers.length)]!;
      const began = performance.now();
      const error = await ask(mesh, name, part.port).catch((error: Error) => error);
      if (error === undefined) dialMs.push(performance.now() - began);
      else failures.push(error.message);
    }
  }
  tell({ dialMs, failures });
}
process.exit(0);
