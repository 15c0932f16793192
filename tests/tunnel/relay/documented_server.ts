/**
 * The server of docs/relay.md in a namespace: it runs the page's lines, and starts as on Debian.
 */
import { eventually, run } from "../../wireguard/hosts/run_program.ts";
import { Host } from "../../wireguard/hosts/host.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import { makeCertificate } from "./certificate.ts";

/** A public network, and an internal network that must not be reachable from outside. */
export const ADDRESSES = {
  server: { ipv4: "11.22.33.1", ipv6: "2a00:11:22::1", inside: "10.9.8.1" },
  outside: { ipv4: "11.22.33.2", ipv6: "2a00:11:22::2", inside: "10.9.8.2" },
} as const;

const NAME = "turn.example.com";
/** The folder that systemd's LoadCredential gives to the service. */
const CREDENTIALS = "/run/credentials/coturn.service/";

const SETTINGS = await documentedBlock("docs/relay.md, Your own server, 2");
const DENIED_RANGES = await documentedBlock("docs/relay.md, Your own server, 3");
const FIREWALL = await documentedBlock("docs/relay.md, Your own server, 5");

/** The ranges that the page denies, as pairs of first and last address. */
export function deniedRanges(): readonly (readonly [first: string, last: string])[] {
  return Array.from(
    DENIED_RANGES.matchAll(/^denied-peer-ip=(\S+)-(\S+)$/gm),
    ([, first = "", last = ""]) => [first, last] as const,
  );
}

export class DocumentedServer implements AsyncDisposable {
  private constructor(
    readonly server: Host,
    /** The only other host. It is in both networks. */
    readonly outside: Host,
    /** The file of the authority that signed the server's certificate. */
    readonly authority: string,
  ) {}

  /** Starts the server with the denied ranges of the page, or with the page's firewall instead. */
  static async start(
    { secret, protection }: {
      readonly secret: string;
      readonly protection: "denied ranges" | "firewall";
    },
  ): Promise<DocumentedServer> {
    const id = `r${crypto.randomUUID().slice(0, 6)}`;
    const server = await Host.create(`${id}-server`, ADDRESSES.server.ipv4);
    const outside = await Host.create(`${id}-outside`, ADDRESSES.outside.ipv4);
    const ends = ["veth", "peer", "name", "uplink", "netns", outside.namespace];
    await server.run(["ip", "link", "add", "uplink", "type", ...ends]);
    for (
      const [host, { ipv4, ipv6, inside }] of [
        [server, ADDRESSES.server],
        [outside, ADDRESSES.outside],
      ] as const
    ) {
      await host.run(["ip", "address", "add", `${ipv4}/24`, "dev", "uplink"]);
      await host.run(["ip", "address", "add", `${inside}/24`, "dev", "uplink"]);
      await host.run(["ip", "address", "add", `${ipv6}/64`, "dev", "uplink", "nodad"]);
      await host.run(["ip", "link", "set", "uplink", "up"]);
    }
    await outside.resolve(NAME, ADDRESSES.server.ipv4);

    const { directory } = server;
    const { authority, certificate, key } = await makeCertificate(directory, NAME);
    await Deno.copyFile(certificate, `${directory}/cert`);
    await Deno.copyFile(key, `${directory}/key`);
    const lines = SETTINGS.replace("<secret>", secret).replace("<another secret>", "cli")
      .replaceAll(CREDENTIALS, `${directory}/`);
    await Deno.writeTextFile(
      `${directory}/turnserver.conf`,
      protection === "denied ranges" ? lines + DENIED_RANGES : lines,
    );
    await run(["chown", "-R", "turnserver:", directory]);
    if (protection === "firewall") await server.run(["nft", "-f", "-"], { input: FIREWALL });
    const capability = "-all,+net_bind_service";
    server.start([
      "setpriv",
      "--reuid=turnserver",
      "--regid=turnserver",
      "--init-groups",
      `--bounding-set=${capability}`,
      `--inh-caps=${capability}`,
      `--ambient-caps=${capability}`,
      "turnserver",
      "-c",
      `${directory}/turnserver.conf`,
      "--pidfile=",
    ], { logName: "coturn" });
    await eventually("coturn listens", {
      condition: async () => {
        const listening = await server.run(["ss", "-Hlnt"]);
        return [":443", ":3478"].every((port) =>
          listening.includes(`${ADDRESSES.server.ipv4}${port}`)
        );
      },
    });
    return new DocumentedServer(server, outside, authority);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.outside[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}
