/** The programs of the drivers, in a project that has the packed package. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SOURCES } from "./sources.ts";
import { makeProject, runtimeIn, succeed } from "../../long/runtimes/tools.ts";

export type DriverName = "pg" | "ioredis" | "mysql2" | "undici" | "ws" | "http";

export type Runtime = typeof NODES[number] | "deno";

export const NODES = ["node", "node24"] as const;

/** The input of a program, as JSON. */
export interface Given {
  readonly driver: DriverName;
  readonly url: string;
  /** The agent keys of the planner and of the builder. */
  readonly keys: readonly [string, string];
  /** The builder's port in the mesh. */
  readonly port: number;
  /** The URL of the server behind the builder. Null: the program is the server. */
  readonly server: string | null;
  /** How many characters to send. */
  readonly length: number;
}

let making: Promise<string> | null = null;

/** Runs a driver's program. Resolves to its output. */
export async function driversOn(
  runtime: Runtime,
  given: Given,
): Promise<unknown> {
  making ??= make();
  const folder = await making;
  const [program, ...options] = runtime === "deno"
    ? [Deno.execPath(), "run", "--allow-all", "--unstable-net"]
    : [runtimeIn(folder, runtime)];
  const args = [...options, "main.js", JSON.stringify(given)];
  return JSON.parse(await succeed(program!, args, { cwd: folder }));
}

async function make(): Promise<string> {
  const folder = await makeProject(["ioredis", "mysql2", "node24", "pg", "undici", "ws"]);
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(SOURCES)) await writeFile(join(folder, name), text);
  await succeed("openssl", [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-nodes",
    "-days",
    "1",
    "-subj",
    "/CN=builder",
    "-addext",
    "subjectAltName=DNS:builder",
    "-keyout",
    "key.pem",
    "-out",
    "cert.pem",
  ], { cwd: folder });
  return folder;
}
