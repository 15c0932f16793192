import { eventually } from "./run_program.ts";
import { type Host, untilListening } from "./host.ts";

export interface Target {
  readonly proto: "tcp" | "udp";
  /** IPv4, or IPv6 without brackets. */
  readonly address: string;
  readonly port: number;
}

/** Starts an echo server on all addresses of the host. */
export async function listen(
  host: Host,
  { proto, port }: { proto: "tcp" | "udp"; port: number },
): Promise<void> {
  const listener = proto === "tcp" ? "TCP6-LISTEN" : "UDP6-RECVFROM";
  const options = "ipv6only=0,fork,reuseaddr";
  host.start(["socat", `${listener}:${port},${options}`, "PIPE"], { logName: `echo-${port}` });
  await untilListening(host, { proto, port });
}

/** Whether data that `host` sends to `target` comes back in time. */
export async function reaches(
  host: Host,
  target: Target,
  { withinSeconds = 2 }: { withinSeconds?: number } = {},
): Promise<boolean> {
  const address = socatAddress(target, { withinSeconds });
  const { success, output } = await host.runAnyhow(
    ["socat", `-t${withinSeconds}`, `-T${withinSeconds}`, "-", address],
    { input: "hello" },
  );
  return success && output === "hello";
}

/** The socat address of a connection to `target`. */
export function socatAddress(
  { proto, address, port }: Target,
  { withinSeconds = 2 }: { withinSeconds?: number } = {},
): string {
  const family = address.includes(":") ? "6" : "4";
  const host = family === "6" ? `[${address}]` : address;
  const options = proto === "tcp" ? `,connect-timeout=${withinSeconds}` : "";
  return `${proto.toUpperCase()}${family}:${host}:${port}${options}`;
}

/** Whether one ping is answered within two seconds. */
export async function answersPing(host: Host, address: string): Promise<boolean> {
  return (await host.runAnyhow(["ping", "-n", "-c1", "-W2", address])).success;
}

/**
 * Waits for an answer. This may take a while: a peer notices after 15 s that the other side has
 * restarted, and retries every 5 s.
 */
export async function untilPingAnswered(
  host: Host,
  { address }: { address: string },
): Promise<void> {
  await eventually(`${host.namespace} gets an answer from ${address}`, {
    condition: () => answersPing(host, address),
  });
}

/** How many pings may be in flight at most: those of one second. */
const OUTSTANDING = 10;

/** Pings ten times a second until it is stopped. */
export class Pings {
  readonly #child: Deno.ChildProcess;
  readonly #readLog: () => Promise<string>;

  private constructor(child: Deno.ChildProcess, readLog: () => Promise<string>) {
    this.#child = child;
    this.#readLog = readLog;
  }

  static start(host: Host, address: string): Pings {
    const logName = `pings-${address}`;
    const child = host.start(["ping", "-n", "-i0.1", "-W2", address], { logName });
    return new Pings(child, () => host.readLog(logName));
  }

  /** Waits until a ping with a number above `count` is answered: a few pings would prove little. */
  async untilSent(count: number): Promise<void> {
    await eventually(`more than ${count} pings are sent, and are answered again`, {
      condition: async () => Math.max(...await this.#answered()) > count,
    });
  }

  /**
   * Stops. Returns the number of sent pings, and the numbers of the unanswered ones. Of the pings
   * after this call, only the first few count.
   */
  async stop(): Promise<{ sent: number; lost: number[] }> {
    const sent = Math.max(0, ...await this.#answered()) + OUTSTANDING;
    // Wait for so many later answers that a missing answer is certainly lost.
    await this.untilSent(sent + OUTSTANDING);
    this.#child.kill("SIGINT");
    await this.#child.status;
    const answered = new Set(await this.#answered());
    const numbers = Array.from({ length: sent }, (_, index) => index + 1);
    return { sent, lost: numbers.filter((number) => !answered.has(number)) };
  }

  /** The numbers of the answered pings so far, from 1. */
  async #answered(): Promise<number[]> {
    // Empty, too, until the program has begun.
    const answers = (await this.#readLog()).matchAll(/ bytes from .* icmp_seq=(\d+) /g);
    return Array.from(answers, ([, number]) => Number(number));
  }
}
