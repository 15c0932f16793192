/**
 * `deno task bench --only=fleet --sandboxes=300`, as root: sandboxes that a policy lets reach each
 * other, all on this machine. How long until each sees all others, and the requests and bytes that
 * this takes.
 */
import { spawn } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { createInterface } from "node:readline";
import { removePostgresHome } from "../../../packages/local/postgres/home.ts";
import { THROW_AWAY } from "../../../packages/local/stack/options.ts";
import { stackEnvironment, startStack } from "../../../packages/local/stack/stack.ts";
import { median } from "../load/timing.ts";
import type { FleetLine, FleetPart, Traffic } from "./fleet_program.ts";

export interface FleetFigure {
  readonly sandboxes: number;
  /** From the start of the first until each sees all others. */
  readonly seconds: number;
  /** Of all sandboxes together, until then. */
  readonly traffic: Traffic;
  /** Processor seconds of the sandboxes' processes until then, and a minute of doing nothing. */
  readonly cpuSeconds: number;
  readonly idleCpuSeconds: number;
  /** Of the sandboxes' processes together, in MiB. */
  readonly memory: number;
  readonly connections: number;
  readonly failures: readonly string[];
  readonly dialMs: { readonly median: number; readonly most: number };
}

const TAG = "tag:fleet";
const PORT = 7000;
const PROCESSES = 2;
const IDLE_MS = 60_000;

/** Measures on a stack of its own. */
export async function measureFleet(
  { sandboxes, dials }: { readonly sandboxes: number; readonly dials: number },
): Promise<FleetFigure> {
  const stateDir = await Deno.makeTempDir({ prefix: "agent-mesh-bench-" });
  await Deno.chmod(stateDir, 0o711);
  const stack = await startStack({ ...THROW_AWAY, stateDir });
  try {
    const environment = { ...stackEnvironment(stack), STATE_DIR: stateDir };
    for (const [name, value] of Object.entries(environment)) Deno.env.set(name, value);
    const { createAgent, operatorRpc } = await import("../../conformance/client.ts");
    const { Mesh } = await import("../../wireguard/hosts/mesh_of_hosts.ts");
    const { SERVICE_ORIGIN, ServiceDoor } = await import("../../wireguard/hosts/service_door.ts");
    await using mesh = await Mesh.create();
    const host = await mesh.internet.addHost("fleet");
    mesh.attach(await ServiceDoor.open(host));
    const keys: string[] = [];
    for (let index = 0; index < sandboxes; index++) {
      const { id, key } = await createAgent(`fleet-${index}`);
      await operatorRpc("set_agent_tags", { agent_id: id, tags: [TAG] });
      keys.push(key);
    }
    const rules = [{ from: [TAG], to: [TAG], ports: [PORT], proto: "tcp" }];
    const policy = { source: "{}", rules };
    const plan = await operatorRpc<{ fingerprint: string }>("plan_policy", { policy });
    let remaining = Infinity;
    while (remaining > 0) {
      const expect = plan.body.fingerprint;
      const step = await operatorRpc<{ remaining: number }>("apply_policy", { policy, expect });
      if (step.status !== 200) throw new Error(`The policy is refused: ${JSON.stringify(step)}`);
      remaining = step.body.remaining;
    }

    const began = performance.now();
    const parts = Array.from({ length: PROCESSES }, (_, index) =>
      new Part(host.enter, {
        url: SERVICE_ORIGIN,
        port: PORT,
        keys: keys.filter((_, each) => each % PROCESSES === index),
        others: sandboxes - 1,
        dials,
      }));
    try {
      await Promise.all(parts.map((part) => part.next("joined")));
      const seen = await Promise.all(parts.map((part) => part.next("seen")));
      const seconds = (performance.now() - began) / 1000;
      const cpuSeconds = await sumOf(parts.map((part) => part.cpuSeconds()));
      await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
      const idleCpuSeconds = await sumOf(parts.map((part) => part.cpuSeconds())) - cpuSeconds;
      for (const part of parts) part.go();
      const dialled = await Promise.all(parts.map((part) => part.next("dialMs")));
      const all = dialled.flatMap(({ dialMs }) => dialMs);
      return {
        sandboxes,
        seconds,
        traffic: {
          requests: total(seen.map(({ seen }) => seen.requests)),
          sentBytes: total(seen.map(({ seen }) => seen.sentBytes)),
          receivedBytes: total(seen.map(({ seen }) => seen.receivedBytes)),
        },
        cpuSeconds,
        idleCpuSeconds,
        memory: await sumOf(parts.map((part) => part.mebibytes())),
        connections: all.length,
        failures: dialled.flatMap(({ failures }) => failures),
        dialMs: { median: median(all), most: Math.max(...all) },
      };
    } finally {
      await Promise.all(parts.map((part) => part.end()));
    }
  } finally {
    await stack.stop();
    await removePostgresHome(stateDir);
    await rm(stateDir, { recursive: true, force: true });
  }
}

/** A process with a part of the sandboxes. */
class Part {
  readonly #child: ReturnType<typeof spawn>;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  constructor(enter: readonly string[], part: FleetPart) {
    const program = new URL("./fleet_program.ts", import.meta.url).pathname;
    const options = ["run", "--quiet", "--allow-all", "--unstable-net", "--no-check"];
    const [first = "", ...args] = [...enter, Deno.execPath(), ...options, program];
    this.#child = spawn(first, [...args, JSON.stringify(part)], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => this.#child.on("close", resolve));
  }

  async next<Name extends "joined" | "seen" | "dialMs">(
    name: Name,
  ): Promise<Extract<FleetLine, { readonly [name in Name]: unknown }>> {
    const { value, done } = await this.#lines.next();
    const line = done ? {} : JSON.parse(value);
    if (!(name in line)) throw new Error(`A process of the fleet did not tell ${name}.`);
    return line;
  }

  go(): void {
    this.#child.stdin!.write("go\n");
  }

  async cpuSeconds(): Promise<number> {
    const stat = await readFile(`/proc/${this.#child.pid}/stat`, "utf8");
    const [user, system] = stat.slice(stat.lastIndexOf(")")).split(" ").slice(12, 14).map(Number);
    return (user! + system!) / 100;
  }

  async mebibytes(): Promise<number> {
    const status = await readFile(`/proc/${this.#child.pid}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  }

  async end(): Promise<void> {
    this.#child.stdin!.end();
    await this.#ended;
  }
}

async function sumOf(numbers: readonly Promise<number>[]): Promise<number> {
  return total(await Promise.all(numbers));
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}
