import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandError } from "../../local/command/command_error.ts";
import { PROJECT } from "../../local/command/project.ts";
import { runTask } from "../../local/command/run_task.ts";
import { extractSource, run } from "./debian_source.ts";
import { licencesOf } from "./licences.ts";

export const LWIP = { name: "lwip", version: "2.1.3+dfsg1-2" } as const;

/** Our own C, which is beside lwIP's sources while they are compiled. */
const OWN = join(PROJECT, "dev/mesh/lwip");

/** Where the package looks for the compiled file and its licence. Neither is in the tree. */
export const TARGET: string = join(PROJECT, "clients/typescript/src/ip/built");

const DIGEST_FILE = join(PROJECT, "dev/mesh/lwip.wasm.sha256");

export const PACKAGES = "clang-14 lld-14 wasi-libc libclang-rt-14-dev-wasm32 dpkg-dev";

const PROGRAMS = ["clang-14", "wasm-ld-14", "dpkg-source", "patch"];

/** The parts of lwIP to compile: IPv4, IPv6 and TCP, for one interface. */
export const SOURCES: readonly string[] = [
  ...["def", "inet_chksum", "init", "ip", "mem", "memp", "netif", "pbuf"],
  ...["tcp", "tcp_in", "tcp_out", "timeouts"],
  ...["ipv4/icmp", "ipv4/ip4", "ipv4/ip4_addr"],
  ...["ipv6/icmp6", "ipv6/ip6", "ipv6/ip6_addr", "ipv6/nd6"],
].map((name) => `src/core/${name}.c`);

export const OWN_SOURCES: readonly string[] = ["glue", "outbox", "congestion"]
  .map((name) => `own/${name}.c`);

const FLAGS = [
  "--target=wasm32-wasi",
  "-std=c99",
  "-O2",
  "-flto",
  // Ignore the warnings in lwIP's own code.
  "-w",
  "-Iown",
  "-Isrc/include",
  "-nostartfiles",
  // At most 256 MiB of memory.
  "-Wl,--no-entry,--strip-all,--lto-O2,-z,stack-size=65536,--max-memory=268435456",
];

/**
 * Compiles lwIP to a file among the client's sources, beside lwIP's licence. The same tree gives
 * the same bytes on every machine. Throws CommandError, also if the bytes do not match the digest
 * in the tree. With `isNew`, writes the digest instead.
 */
export async function buildLwip({ isNew }: { readonly isNew: boolean }): Promise<void> {
  await requirePrograms();
  const folder = await mkdtemp(join(tmpdir(), "agent-mesh-lwip-"));
  try {
    const source = await prepareLwip(folder);
    await run("clang-14", [...FLAGS, ...OWN_SOURCES, ...SOURCES, "-o", "lwip.wasm"], source);
    const bytes = await readFile(join(source, "lwip.wasm"));
    await compareDigest(bytes, isNew);
    await mkdir(TARGET, { recursive: true });
    await writeFile(join(TARGET, "lwip.wasm"), bytes);
    await writeFile(
      join(TARGET, "lwip.LICENSE.txt"),
      await licencesOf({ source, files: SOURCES }),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Throws CommandError unless the compiled file exists and matches the digest of this tree. */
export async function requireLwip(): Promise<void> {
  const bytes = await readFile(join(TARGET, "lwip.wasm")).catch(() => null);
  if (bytes !== null) return await compareDigest(bytes, false);
  throw new CommandError(
    `The TCP/IP stack of the sandbox peer has not been built. On Debian 12, install ${PACKAGES}, ` +
      "and run `deno task mesh:build`.",
  );
}

/**
 * Extracts lwIP to a folder, and adds our own sources and patch. Resolves to the folder in which to
 * compile.
 */
export async function prepareLwip(folder: string): Promise<string> {
  const source = await extractSource(folder, LWIP);
  await normalizeLines(source);
  await cp(OWN, join(source, "own"), { recursive: true });
  await run("patch", ["-s", "-p0", "-i", "own/lwip.patch"], source);
  return source;
}

async function requirePrograms(): Promise<void> {
  for (const program of PROGRAMS) {
    const paths = (Deno.env.get("PATH") ?? "").split(":").map((path) => join(path, program));
    const found = await Promise.all(paths.map((path) => Deno.stat(path).catch(() => null)));
    if (found.every((file) => file === null)) {
      throw new CommandError(
        `${program} is missing. On Debian 12: apt-get install --no-install-recommends ${PACKAGES}`,
      );
    }
  }
}

/** Some of lwIP's files have CRLF line ends, on which the patch would fail. */
async function normalizeLines(source: string): Promise<void> {
  for (const file of await readdir(join(source, "src"), { recursive: true })) {
    if (!/\.[ch]$/.test(file)) continue;
    const path = join(source, "src", file);
    const text = await readFile(path, "latin1");
    if (text.includes("\r\n")) await writeFile(path, text.replaceAll("\r\n", "\n"), "latin1");
  }
}

async function compareDigest(bytes: Uint8Array, isNew: boolean): Promise<void> {
  const digest = createHash("sha256").update(bytes).digest("hex");
  if (isNew) await writeFile(DIGEST_FILE, `${digest}\n`);
  const expected = (await readFile(DIGEST_FILE, "utf8")).trim();
  if (digest !== expected) {
    throw new CommandError(
      `lwip.wasm has the digest ${digest}, not ${expected}. If you changed dev/mesh/lwip/ or the ` +
        "compiler, run `deno task mesh:build --new`.",
    );
  }
}

if (import.meta.main) {
  await runTask({
    task: "mesh:build",
    summary: "Compile the TCP/IP stack of the sandbox peer (lwIP, from Debian's source package).",
    example: "deno task mesh:build",
    options: { new: { type: "boolean", help: "write the digest instead of comparing it" } },
    run: async ({ values }) => {
      await buildLwip({ isNew: values.new === true });
      console.log("lwip.wasm is in clients/typescript/src/ip/built/");
    },
  });
}
