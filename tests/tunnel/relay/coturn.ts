import { createHmac } from "node:crypto";
import { connect } from "node:net";
import { eventually, run } from "../../wireguard/hosts/run_program.ts";
import { freePort } from "../../../packages/local/processes/free_port.ts";

const SECRET = "relay-secret-of-the-tests";

/** coturn on the loopback interface, with expiring credentials and its own certificate. */
export class Coturn implements AsyncDisposable {
  readonly #child: Deno.ChildProcess;

  private constructor(
    child: Deno.ChildProcess,
    readonly directory: string,
    readonly port: number,
    readonly tlsPort: number,
    readonly certificate: string,
  ) {
    this.#child = child;
  }

  static async start(options: readonly string[] = []): Promise<Coturn> {
    const directory = await Deno.makeTempDir({ prefix: "coturn-" });
    const [port, tlsPort] = [await freePort(), await freePort()];
    const names = [
      "-subj",
      "/CN=127.0.0.1",
      "-addext",
      "subjectAltName=IP:127.0.0.1",
    ];
    const files = [
      "-keyout",
      `${directory}/key.pem`,
      "-out",
      `${directory}/cert.pem`,
    ];
    await run([
      "openssl",
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      ...names,
      ...files,
    ]);
    const configuration = [
      "listening-ip=127.0.0.1",
      "relay-ip=127.0.0.1",
      `listening-port=${port}`,
      `tls-listening-port=${tlsPort}`,
      `cert=${directory}/cert.pem`,
      `pkey=${directory}/key.pem`,
      "use-auth-secret",
      `static-auth-secret=${SECRET}`,
      "realm=mesh.test",
      "allow-loopback-peers",
      ...(options.some((option) => option.startsWith("cli-")) ? [] : ["no-cli"]),
      `pidfile=${directory}/pid`,
      `userdb=${directory}/users`,
      `log-file=${directory}/log`,
      "simple-log",
      ...options,
    ];
    await Deno.writeTextFile(
      `${directory}/turnserver.conf`,
      configuration.join("\n") + "\n",
    );
    const child = new Deno.Command("turnserver", {
      args: ["-c", `${directory}/turnserver.conf`],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const certificate = await Deno.readTextFile(`${directory}/cert.pem`);
    await eventually("coturn listens", {
      condition: async () => await accepts(port) && await accepts(tlsPort),
    });
    return new Coturn(child, directory, port, tlsPort, certificate);
  }

  /** Credentials for coturn's `use-auth-secret`, by default valid for an hour. */
  credentials(
    { name = "agent", seconds = 3600 }: {
      readonly name?: string;
      readonly seconds?: number;
    } = {},
  ): { readonly username: string; readonly credential: string } {
    const username = `${Math.floor(Date.now() / 1000) + seconds}:${name}`;
    return {
      username,
      credential: createHmac("sha1", SECRET).update(username).digest("base64"),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#child.status;
    await Deno.remove(this.directory, { recursive: true });
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    }).on("error", () => resolve(false));
  });
}
