import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { pause } from "../platform.ts";

/** What the kernel's WireGuard knows of a peer. */
export interface KernelPeer {
  readonly publicKey: string;
  /** `<address>:<port>`, or null. */
  readonly endpoint: string | null;
  /** Milliseconds since 1970; null if there was no handshake. */
  readonly lastHandshakeAt: number | null;
  readonly receivedBytes: number;
}

export interface KernelState {
  readonly publicKey: string;
  readonly listenPort: number;
  readonly peers: readonly KernelPeer[];
}

/** A WireGuard interface of this host, controlled by the program `wg`. */
export interface Kernel {
  /** Null while there is no such interface, or it is not up. */
  state(): Promise<KernelState | null>;
  /** Rejects if the peer is gone: this must not add it again. */
  setEndpoint(publicKey: string, endpoint: string): Promise<void>;
}

/** The longest time that the agent takes to add a removed peer again, in milliseconds. */
const READD = 200;

const run = promisify(execFile);

/**
 * Reads the kernel's state. Reads it again if one of the `expected` peers is missing: the agent
 * removes a peer and adds it again to send another handshake.
 */
export async function stateWith(
  expected: readonly string[],
  kernel: Kernel,
): Promise<KernelState | null> {
  const state = await kernel.state();
  const present = new Set(state?.peers.map(({ publicKey }) => publicKey));
  if (expected.every((publicKey) => present.has(publicKey))) return state;
  await pause(READD);
  return await kernel.state();
}

/** Its methods reject if the program `wg` is missing or not permitted. */
export function kernelInterface(name: string): Kernel {
  return {
    async state() {
      try {
        // Not `dump`, which prints the private key and the preshared keys.
        const show = async (field: string) => (await run("wg", ["show", name, field])).stdout;
        const [publicKey = "", listenPort = "", ...counts] = await Promise.all(
          ["public-key", "listen-port", "latest-handshakes", "transfer"].map(show),
        );
        // Last: a packet that is counted has already moved the endpoint.
        const endpoints = await show("endpoints");
        const state = parseState([publicKey, listenPort, endpoints, ...counts]);
        return state.listenPort === 0 ? null : state;
      } catch (error) {
        if (/No such device/.test(String((error as { stderr?: string }).stderr))) return null;
        throw error;
      }
    },
    async setEndpoint(publicKey, endpoint) {
      const shown = await run("wg", ["show", name, "peers"]);
      // `wg set` would add a missing peer.
      if (!shown.stdout.split("\n").includes(publicKey)) throw new Error("The peer is gone.");
      await run("wg", ["set", name, "peer", publicKey, "endpoint", endpoint]);
    },
  };
}

/** Parses the fields above, each as `wg show` prints it. */
export function parseState(shown: readonly string[]): KernelState {
  const [publicKey = "", listenPort = "", endpoints = "", handshakes = "", transfer = ""] = shown;
  const [seen, received] = [columns(handshakes), columns(transfer)];
  const peers = [...columns(endpoints)].map(([publicKey, endpoint]) => {
    const seconds = Number(seen.get(publicKey) ?? 0);
    return {
      publicKey,
      endpoint: endpoint === "(none)" ? null : endpoint,
      lastHandshakeAt: seconds > 0 ? seconds * 1000 : null,
      receivedBytes: Number(received.get(publicKey) ?? 0),
    };
  });
  return { publicKey: publicKey.trim(), listenPort: Number(listenPort), peers };
}

/** Maps the first column to the second. */
function columns(text: string): Map<string, string> {
  const rows = text.split("\n").map((line) => line.split("\t"));
  return new Map(rows.flatMap(([key, value]) => key && value ? [[key, value]] : []));
}
