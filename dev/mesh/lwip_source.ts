import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { applyPatch, parsePatch } from "diff";
import { unpackTar } from "modern-tar";
import xz from "xz-decompress";
import { CommandError } from "../../packages/command/command_error.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { downloadOriginal } from "./apt_source.ts";

/** lwIP in Debian 12. None of Debian's own patches changes a file that is compiled here. */
export const LWIP = { name: "lwip", version: "2.1.3+dfsg1-2" } as const;

/** The name that Debian's mirrors and archives give the file. */
export const ARCHIVE = "lwip_2.1.3+dfsg1.orig.tar.xz";

const ARCHIVE_SHA256 = "0a8276d09fc4e97bbba2f953d74af2388fc2195ea156be9d7589e297a68fde24";

/** Our own C and the patch, which are beside lwIP's sources while they are compiled. */
const OWN = join(PROJECT, "dev/mesh/lwip");

/** The parts of lwIP to compile: IPv4, IPv6 and TCP, for one interface. */
export const SOURCES: readonly string[] = [
  "def",
  "inet_chksum",
  "init",
  "ip",
  "mem",
  "memp",
  "netif",
  "pbuf",
  "tcp",
  "tcp_in",
  "tcp_out",
  "timeouts",
  "ipv4/icmp",
  "ipv4/ip4",
  "ipv4/ip4_addr",
  "ipv6/icmp6",
  "ipv6/ip6",
  "ipv6/ip6_addr",
  "ipv6/nd6",
].map((name) => `src/core/${name}.c`);

export const OWN_SOURCES: readonly string[] = ["glue", "outbox", "congestion"]
  .map((name) => `own/${name}.c`);

/** The files to compile from, by path: lwIP's below `src/`, ours below `own/`. */
export type SourceTree = ReadonlyMap<string, Uint8Array>;

/**
 * Reads lwIP's archive from a file or, without one, downloads it by apt. Throws CommandError, also
 * if the archive has another digest.
 */
export async function readArchive(file: string | null): Promise<Uint8Array> {
  const archive = file === null ? await downloadOriginal(LWIP) : await readNamed(file);
  const digest = createHash("sha256").update(archive).digest("hex");
  if (digest !== ARCHIVE_SHA256) {
    throw new CommandError(
      `${
        file ?? "The archive of lwIP"
      } has the SHA-256 ${digest}. ${ARCHIVE} has ${ARCHIVE_SHA256}.`,
    );
  }
  return archive;
}

async function readNamed(file: string): Promise<Uint8Array> {
  return await readFile(file).catch((error) => {
    throw new CommandError(`lwIP's archive cannot be read: ${error.message}`);
  });
}

/** lwIP's sources with our patch applied, and our own files. */
export async function prepareSources(archive: Uint8Array): Promise<SourceTree> {
  const tree = new Map<string, Uint8Array>();
  const packed = new Response(archive.slice()).body!;
  const entries = await unpackTar(new xz.XzReadableStream(packed));
  for (const { header, data } of entries) {
    // The archive has one folder at the top.
    const path = header.name.replace(/^[^/]*\//, "");
    if (header.type === "file" && /^src\/.*\.[ch]$/.test(path)) {
      tree.set(path, withUnixLines(data!));
    }
  }
  for (const path of await readdir(OWN, { recursive: true })) {
    if (!/\.[ch]$/.test(path)) continue;
    tree.set(`own/${path}`, new Uint8Array(await readFile(join(OWN, path))));
  }
  return patched(tree, await readFile(join(OWN, "lwip.patch"), "utf8"));
}

/** Some of lwIP's files have CRLF line ends, on which the patch would fail. */
function withUnixLines(bytes: Uint8Array): Uint8Array {
  return bytes.includes(0x0d) ? toBytes(toText(bytes).replaceAll("\r\n", "\n")) : bytes;
}

function patched(tree: SourceTree, patch: string): SourceTree {
  const result = new Map(tree);
  for (const change of parsePatch(patch)) {
    const path = change.newFileName!;
    const text = applyPatch(toText(tree.get(path)!), change);
    if (text === false) throw new CommandError(`lwip.patch does not fit ${path}.`);
    result.set(path, toBytes(text));
  }
  return result;
}

/** Latin-1 keeps every byte. */
function toText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("latin1");
}

function toBytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text, "latin1"));
}
