import { createHmac } from "node:crypto";
import type { RelayAnswer } from "../../../packages/agent-peer/paths/paths.ts";
import { type Certificate, makeCertificate } from "../../tunnel/relay/certificate.ts";
import { type Host, untilListening } from "../../wireguard/hosts/host.ts";

export const RELAY_SECRET = "relay-secret-of-the-tests";

/** coturn on a host, with expiring credentials and its own certificate. */
export class RelayHost {
  #child: Deno.ChildProcess | null = null;

  private constructor(
    readonly host: Host,
    private readonly setup: {
      readonly authority: string;
      readonly files: Certificate;
      readonly options: readonly string[];
    },
  ) {}

  static async start(host: Host, options: readonly string[] = []): Promise<RelayHost> {
    const files = await makeCertificate(host.directory, host.address!);
    const authority = await Deno.readTextFile(files.authority);
    const relay = new RelayHost(host, { authority, files, options });
    await relay.restart();
    return relay;
  }

  async restart(): Promise<void> {
    const { directory, address } = this.host;
    const { files, options } = this.setup;
    await this.stop();
    const configuration = [
      `listening-ip=${address}`,
      `relay-ip=${address}`,
      "listening-port=3478",
      "tls-listening-port=443",
      `cert=${files.certificate}`,
      `pkey=${files.key}`,
      "use-auth-secret",
      `static-auth-secret=${RELAY_SECRET}`,
      "realm=mesh.test",
      "no-cli",
      `pidfile=${directory}/pid`,
      `userdb=${directory}/users`,
      `log-file=${directory}/log`,
      "simple-log",
      "verbose",
      ...options,
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

  /** PEM of the authority that signed the relay's certificate. */
  get authority(): string {
    return this.setup.authority;
  }

  get urls(): string[] {
    const { address } = this.host;
    return [
      `turn:${address}:3478?transport=udp`,
      `turn:${address}:3478?transport=tcp`,
      `turns:${address}:443?transport=tcp`,
    ];
  }

  /** The service's answer to /relay. */
  answer(seconds = 3600): RelayAnswer {
    const username = `${Math.floor(Date.now() / 1000) + seconds}:agent`;
    const credential = createHmac("sha1", RELAY_SECRET).update(username).digest("base64");
    return {
      ice_servers: [{ urls: this.urls, username, credential }],
      expires_at: new Date(Date.now() + seconds * 1000).toISOString(),
    };
  }
}
