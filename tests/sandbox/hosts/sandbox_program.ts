/**
 * An application in a sandbox, for tests: reads commands and writes answers, each one line of JSON.
 * Runs under Deno and, bundled, under Node.
 */
import { createHash, randomBytes } from "node:crypto";
import process from "node:process";
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { join, type Mesh } from "../../../packages/agent-peer/mesh/index.ts";
import type { Command } from "./sandbox_protocol.ts";
import { readAll, Transfer } from "./transfer.ts";
import { drain, pour } from "./streams.ts";
import { webServer } from "./web_server.ts";

let mesh: Mesh | null = null;
let held: Promise<string> | null = null;
let transfer: Transfer | null = null;
let poured: ReturnType<typeof pour> | null = null;
let drained: ReturnType<typeof drain> | null = null;
const web = webServer();
let received = 0;
const accepted: string[] = [];

function joined(): Mesh {
  if (mesh === null) throw new Error("It has not joined.");
  return mesh;
}

async function send({ host, port, bytes }: Extract<Command, { do: "send" }>) {
  const socket = await joined().connectNet({ host, port });
  const sent = createHash("sha256");
  const reading = readAll(socket);
  for (let left = bytes; left > 0;) {
    const chunk = randomBytes(Math.min(left, 65_536));
    sent.update(chunk);
    left -= chunk.length;
    if (!socket.write(chunk)) await new Promise((resolve) => socket.once("drain", resolve));
  }
  socket.end();
  return { sent: sent.digest("hex"), received: (await reading).toString() };
}

async function connectSoon(to: { readonly host: string; readonly port: number }): Promise<Duplex> {
  while (true) {
    try {
      return await joined().connectNet(to);
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      if (!["unknown_peer", "no_rule"].includes(code)) throw error;
    }
  }
}

async function askSoon(to: Extract<Command, { do: "askSoon" }>) {
  const socket = await connectSoon(to);
  socket.end("hello");
  return { received: (await readAll(socket)).toString() };
}

async function listen(port: number) {
  await joined().listenNet(port, (socket, { from }) => {
    accepted.push(from.agentId);
    const hash = createHash("sha256");
    socket.on("data", (chunk) => {
      received += chunk.length;
      hash.update(chunk);
    });
    socket.on("end", () => socket.end(hash.digest("hex")));
    socket.on("error", () => {});
  });
}

async function serveHttp(port: number) {
  await joined().listenNet(port, (socket, { from }) => {
    let request = "";
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      request += chunk;
      if (!request.endsWith("hello")) return;
      const [line = ""] = request.split("\r\n");
      const body = JSON.stringify({ line, from: from.agentId });
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
  });
}

async function hold({ host, port }: Extract<Command, { do: "hold" }>) {
  const socket = await joined().connectNet({ host, port });
  held = new Promise((resolve) => {
    socket.on("data", () => {});
    socket.on("end", () => resolve("ended"));
    socket.on("error", (error) => resolve((error as NodeJS.ErrnoException).code ?? "unknown"));
  });
  socket.write("hello");
}

async function serveUdp(port: number) {
  const socket = await joined().udp({ port });
  void (async () => {
    for await (const { data, from } of socket) {
      const answer = new TextEncoder().encode(`${from.agentId}: ${new TextDecoder().decode(data)}`);
      await socket.send(answer, from).catch(() => {});
    }
  })();
}

async function askUdp({ host, port, text }: Extract<Command, { do: "askUdp" }>) {
  const socket = await joined().udp();
  let failure: unknown = null;
  const send = () =>
    socket.send(new TextEncoder().encode(text), { host, port }).catch((error) => {
      failure = error;
      // Ends `receive`.
      socket.close();
    });
  const again = setInterval(send, 1000);
  await send();
  const answer = await socket.receive();
  clearInterval(again);
  socket.close();
  if (answer === null) throw failure;
  return { answer: new TextDecoder().decode(answer.data), from: answer.from };
}

function beBusy(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}

async function run(command: Command): Promise<unknown> {
  switch (command.do) {
    case "join": {
      const { url, key, keyFile } = command;
      mesh = await join({ url, key, ...(keyFile !== undefined && { keyFile }) });
      const { agentId, name, addresses } = mesh;
      return { agentId, name, addresses };
    }
    case "send":
      return await send(command);
    case "askSoon":
      return await askSoon(command);
    case "startTransfer":
      transfer = new Transfer(await joined().connectNet(command), command.everyMs);
      return;
    case "endTransfer":
      return await transfer!.end();
    case "received":
      return { received };
    case "listen":
      return await listen(command.port);
    case "serveHttp":
      return await serveHttp(command.port);
    case "hold":
      return await hold(command);
    case "outcome":
      return { outcome: await held };
    case "pour":
      poured = pour(await joined().connectNet(command));
      return;
    case "poured":
      return { outcome: poured!.outcome };
    case "stopPouring":
      return void poured!.socket.destroy();
    case "drain":
      await joined().listenNet(command.port, (socket) => void (drained = drain(socket)));
      return;
    case "drained":
      return { bytes: drained?.bytes ?? 0, outcome: drained?.outcome ?? null };
    case "serveWeb":
      await joined().serve(command.port, web.answer, { onError: () => {} });
      return;
    case "signals":
      return { signals: web.signals() };
    case "serveUdp":
      return await serveUdp(command.port);
    case "askUdp":
      return await askUdp(command);
    case "flows":
      return { flows: await joined().flows() };
    case "fetch": {
      const init = command.body === undefined ? {} : { method: "POST", body: command.body };
      const response = await joined().fetch(command.url, init);
      return { status: response.status, body: await response.text(), url: response.url };
    }
    case "accepted":
      return { accepted };
    case "peers":
      return { peers: joined().peers() };
    case "closed": {
      const error = await joined().closed;
      return { closed: error === null ? null : (error as Error & { code: string }).code };
    }
    case "beBusy":
      return beBusy(command.milliseconds);
    case "close":
      return await joined().close();
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  let answer: unknown;
  try {
    answer = await run(JSON.parse(line)) ?? {};
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    answer = { error: { code: code ?? "none", message } };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
process.exit(0);
