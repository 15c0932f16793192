import { createHmac } from "node:crypto";
import type { RelayAnswer } from "../../../clients/typescript/src/mesh/paths/paths.ts";
import { run } from "../../wireguard/hosts/command.ts";
import { type Host, untilListening } from "../../wireguard/hosts/host.ts";

const SECRET = "relay-secret-of-the-tests";

/** coturn on a host, with credentials for a time and a certificate of its own. */
export class RelayHost {
  #child: Deno.ChildProcess | null = null;

  private constructor(
    readonly host: Host,
    readonly certificate: string,
    private readonly options: readonly string[],
  ) {}

  static async start(host: Host, options: readonly string[] = []): Promise<RelayHost> {
    const { directory, address } = host;
    await run([
      "openssl",
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-subj",
      `/CN=${address}`,
      "-addext",
      `subjectAltName=IP:${address}`,
      "-keyout",
      `${directory}/key.pem`,
      "-out",
      `${directory}/cert.pem`,
    ]);
    const certificate = await Deno.readTextFile(`${directory}/cert.pem`);
    const relay = new RelayHost(host, certificate, options);
    await relay.restart();
    return relay;
  }

  async restart(): Promise<void> {
    const { directory, address } = this.host;
    await this.stop();
    const configuration = [
      `listening-ip=${address}`,
      `relay-ip=${address}`,
      "listening-port=3478",
      "tls-listening-port=443",
      `cert=${directory}/cert.pem`,
      `pkey=${directory}/key.pem`,
      "use-auth-secret",
      `static-auth-secret=${SECRET}`,
      "realm=mesh.test",
      "no-cli",
      `pidfile=${directory}/pid`,
      `userdb=${directory}/users`,
      `log-file=${directory}/log`,
      "simple-log",
      "verbose",
      ...this.options,
    ];
    await Deno.writeTextFile(`${directory}/turnserver.conf`, configuration.join("\n") + "\n");
    this.#child = this.host.start(["turnserver", "-c", `${directory}/turnserver.conf`], {
      logName: "coturn",
    });
    await untilListening(this.host, { proto: "tcp", port: 443 });
    await untilListening(this.host, { proto: "udp", port: 3478 });
  }

  async stop(): Promise<void> {
    if (this.#child === null) return;
    this.#child.kill("SIGKILL");
    await this.#child.status;
    this.#child = null;
  }

  /** As the service answers /relay. */
  answer(seconds = 3600): RelayAnswer {
    const { address } = this.host;
    const username = `${Math.floor(Date.now() / 1000) + seconds}:agent`;
    const credential = createHmac("sha1", SECRET).update(username).digest("base64");
    const urls = [
      `turn:${address}:3478?transport=udp`,
      `turn:${address}:3478?transport=tcp`,
      `turns:${address}:443?transport=tcp`,
    ];
    return {
      ice_servers: [{ urls, username, credential }],
      expires_at: new Date(Date.now() + seconds * 1000).toISOString(),
    };
  }
}
