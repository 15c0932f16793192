/**
 * A forward proxy that alone can resolve a certain name, and the TLS server of that name behind it.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { TextLineStream } from "./text_lines.ts";

/** One line of the proxy's output: a new connection or request, or a closed connection. */
export type Seen =
  | { readonly type: "CONNECT" | "forward"; readonly hostname: string; readonly user: string }
  | { readonly type: "closed"; readonly sent: number; readonly received: number };

export interface ForwardProxy extends AsyncDisposable {
  readonly url: string;
  /** Everything that the proxy has seen so far. */
  readonly seen: readonly Seen[];
}

export interface ForwardProxyOptions {
  /** A project with proxy-chain installed. */
  readonly folder: string;
  /** A name that only this proxy resolves, to this machine. */
  readonly name: string;
  /** The port of the name's TLS server, which forwards everything to `target` in plain text. */
  readonly tlsPort: number;
  readonly target: number;
  readonly key: string;
  readonly cert: string;
  /** The password that every client must send. */
  readonly password: string;
}

const PROGRAM = `
import { connect } from "node:net";
import { createServer } from "node:tls";
import { Server } from "proxy-chain";

const { name, tlsPort, target, key, cert, password } = JSON.parse(process.argv[2]);
const write = (seen) => console.log(JSON.stringify(seen));

const tls = createServer({ key, cert }, (client) => {
  const gateway = connect(target, "127.0.0.1");
  for (const socket of [client, gateway]) socket.on("error", () => {});
  client.on("close", () => gateway.destroy());
  gateway.on("close", () => client.destroy());
  client.pipe(gateway).pipe(client);
});
tls.listen(tlsPort, "127.0.0.1");

const proxy = new Server({
  port: 0,
  host: "127.0.0.1",
  prepareRequestFunction({ hostname, isHttp, username, password: given }) {
    if (given !== password) return { requestAuthentication: true };
    write({ type: isHttp ? "forward" : "CONNECT", hostname, user: username });
    return {
      dnsLookup(host, options, callback) {
        if (host !== name) return callback(Object.assign(new Error(host), { code: "ENOTFOUND" }));
        const address = "127.0.0.1";
        if (options.all) callback(null, [{ address, family: 4 }]);
        else callback(null, address, 4);
      },
    };
  },
});
proxy.on("connectionClosed", ({ stats }) =>
  write({ type: "closed", sent: stats?.srcRxBytes ?? 0, received: stats?.srcTxBytes ?? 0 }));
await proxy.listen();
console.log(proxy.port);
`;

export async function startForwardProxy(options: ForwardProxyOptions): Promise<ForwardProxy> {
  const { folder, password } = options;
  await writeFile(join(folder, "forward_proxy.js"), PROGRAM);
  const child = new Deno.Command("node", {
    args: ["forward_proxy.js", JSON.stringify(options)],
    cwd: folder,
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream())
    .pipeThrough(new TextLineStream()).getReader();
  const port = Number((await lines.read()).value);
  const seen: Seen[] = [];
  const reading = (async () => {
    for (let line = await lines.read(); !line.done; line = await lines.read()) {
      seen.push(JSON.parse(line.value));
    }
  })();
  return {
    url: `http://agent:${password}@127.0.0.1:${port}`,
    seen,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await child.status;
      await reading;
    },
  };
}
