/**
 * A host's TCP for tests and measurements: that of the kernel (`kernel`), or of the sandbox peer
 * (`sandbox <private key> <file of lwIP> <address>...`). Serves one port. Reads commands and writes
 * answers, each one line of JSON. Runs under Node and Deno, bundled.
 */
import process from "node:process";
import { createInterface } from "node:readline";
import { type Command, PORT, type Target } from "./tcp_protocol.ts";
import { writeText } from "./contents.ts";
import { RunningExchange } from "./exchanges.ts";
import { Services } from "./services.ts";
import { KERNEL, type Network, openSandbox, type Stream } from "./streams.ts";

const [kind, privateKey = "", lwip = "", ...addresses] = process.argv.slice(2);
const sandbox = kind === "sandbox" ? await openSandbox({ privateKey, lwip, addresses }) : null;
const network: Network = sandbox ?? KERNEL;
const services = new Services();
await network.listen(PORT, (stream) => void services.serve(stream));
let begun: RunningExchange | null = null;

function connect({ to, port = PORT }: Target): Promise<Stream> {
  return network.connect(to, port);
}

async function echo(stream: Stream, bytes: Uint8Array): Promise<void> {
  await stream.write(bytes);
  for (let count = 0; count < bytes.length;) {
    const answer = await stream.read();
    if (answer === null) throw new Error("The echo has ended.");
    if (answer.some((byte, index) => byte !== bytes[count + index])) {
      throw new Error("The echo has other bytes.");
    }
    count += answer.length;
  }
}

async function end(stream: Stream): Promise<void> {
  await stream.end();
  if (await stream.read() !== null) throw new Error("More than the echo has arrived.");
}

const ECHO = `${JSON.stringify({ do: "echo" })}\n`;

async function measureEchos(target: Target, count: number, length: number): Promise<number[]> {
  const stream = await connect(target);
  await writeText(stream, ECHO);
  const bytes = new Uint8Array(length).fill(7);
  const times: number[] = [];
  for (let index = 0; index < count; index++) {
    const from = performance.now();
    await echo(stream, bytes);
    times.push(performance.now() - from);
  }
  await end(stream);
  return times;
}

/** Opens connections that are all open at the same time, each with an echo. */
async function crowd(target: Target, count: number, length: number) {
  const streams = await Promise.all(Array.from({ length: count }, () => connect(target)));
  await Promise.all(streams.map(async (stream, index) => {
    await writeText(stream, ECHO);
    await echo(stream, new Uint8Array(length).fill(index));
  }));
  await Promise.all(streams.map(end));
  return { answered: streams.length };
}

/** The bits per second that arrive on one connection, after the first third of the time. */
async function stream(target: Target, seconds: number) {
  const connection = await connect(target);
  const request = { do: "exchange", up: 0, down: 1e12, seed: 1, isUnchecked: true };
  await writeText(connection, `${JSON.stringify(request)}\n`);
  const warm = performance.now() + seconds * 1000 / 3;
  const end = performance.now() + seconds * 1000;
  let [bytes, from] = [0, 0];
  for (let now; (now = performance.now()) < end;) {
    const { length } = (await connection.read())!;
    if (from > 0) bytes += length;
    else if (now > warm) from = performance.now();
  }
  const bitsPerSecond = bytes * 8 / ((performance.now() - from) / 1000);
  connection.abort();
  return bitsPerSecond;
}

/** Writes until the other side resets the connection, or resets it itself. */
async function breakOff(target: Target, by: "self" | "peer") {
  const stream = await connect(target);
  const chunk = new Uint8Array(10_000);
  if (by === "self") {
    await writeText(stream, ECHO);
    await echo(stream, chunk);
    stream.abort();
    return { code: "none" };
  }
  await writeText(stream, `${JSON.stringify({ do: "reset", after: 50_000 })}\n`);
  try {
    for (;;) await stream.write(chunk);
  } catch (error) {
    return { code: (error as { code: string }).code };
  }
}

async function run(command: Command): Promise<unknown> {
  switch (command.do) {
    case "setPeers":
      return sandbox!.tunnel.setPeers(command.peers);
    case "exchange":
      return await new RunningExchange(network, command).done;
    case "beginExchange":
      begun = new RunningExchange(network, command);
      return { taken: await begun.untilItStalls() };
    case "finishExchange":
      return await begun!.done;
    case "stream": {
      const streams = command.from.map((to) => stream({ to }, command.seconds));
      return { bitsPerSecond: await Promise.all(streams) };
    }
    case "echo":
      return { times: await measureEchos(command, command.count, command.bytes) };
    case "crowd":
      return await crowd(command, command.count, command.bytes);
    case "breakOff":
      return await breakOff(command, command.by);
    case "connect":
      return await connect(command).then(
        (stream) => stream.end().then(() => ({ code: null })),
        ({ code }) => ({ code }),
      );
    case "release":
      return services.release();
    case "state":
      return { port: sandbox?.port ?? 0, ...services.state() };
  }
}

function write(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer ?? {})}\n`);
}

write({});
for await (const line of createInterface({ input: process.stdin })) {
  write(await run(JSON.parse(line)).catch((error) => ({ error: String(error?.stack ?? error) })));
}
process.exit(0);
