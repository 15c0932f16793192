import { eventually } from "../../wireguard/hosts/run_program.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import { type KeyPair, newKeyPair } from "./sandbox_peer.ts";

const PORT = 51820;

/** A host with a WireGuard tunnel of the kernel or of wireguard-go. */
export class KernelPeer {
  private constructor(
    readonly host: Host,
    readonly interfaceName: string,
    readonly inner: string,
    readonly keys: KeyPair,
  ) {}

  static async start(
    host: Host,
    { interfaceName, inner }: {
      readonly interfaceName: string;
      readonly inner: string;
    },
  ): Promise<KernelPeer> {
    const keys = await newKeyPair();
    const link = ["ip", "link", "add", interfaceName, "type", "wireguard"];
    if (!(await host.runAnyhow(link)).success) {
      await host.run(["wireguard-go", interfaceName]);
    }
    const peer = new KernelPeer(host, interfaceName, inner, keys);
    await peer.set("private-key", await peer.#file("key", keys.privateKey));
    await peer.set("listen-port", String(PORT));
    await host.run([
      "ip",
      "address",
      "add",
      `${inner}/24`,
      "dev",
      interfaceName,
    ]);
    await host.run(["ip", "link", "set", interfaceName, "mtu", "1280", "up"]);
    return peer;
  }

  async set(...options: string[]): Promise<void> {
    await this.host.run(["wg", "set", this.interfaceName, ...options]);
  }

  async setPeer(
    { keys, inner }: { readonly keys: KeyPair; readonly inner: string },
    { presharedKey = null }: { readonly presharedKey?: string | null } = {},
  ): Promise<void> {
    // For wg, an empty file means no PSK.
    const file = presharedKey === null ? "/dev/null" : await this.#file("psk", presharedKey);
    const options = ["preshared-key", file, "allowed-ips", `${inner}/32`];
    await this.set("peer", keys.publicKey, ...options);
  }

  /** The peer's configuration for the other side. */
  asPeer(
    { presharedKey = null }: { readonly presharedKey?: string | null } = {},
  ) {
    return {
      publicKey: this.keys.publicKey,
      presharedKey,
      allowedIps: [`${this.inner}/32`],
      endpoints: [this.endpoint],
    };
  }

  get endpoint() {
    return { address: this.host.address ?? "", port: PORT, via: "udp" };
  }

  /** The outer endpoint of the host's only peer, as `wg` shows it. */
  async peerEndpoint(): Promise<string> {
    const text = await this.host.run([
      "wg",
      "show",
      this.interfaceName,
      "endpoints",
    ]);
    return text.trim().split("\t").at(-1) ?? "";
  }

  async pings(address: string, ...options: string[]): Promise<boolean> {
    return (await this.host.runAnyhow([
      "ping",
      "-c1",
      "-W1",
      ...options,
      address,
    ])).success;
  }

  untilPings(address: string): Promise<void> {
    return eventually(`${address} answers`, {
      condition: () => this.pings(address),
    });
  }

  async #file(name: string, text: string): Promise<string> {
    const path = `${this.host.directory}/${name}`;
    await Deno.writeTextFile(path, `${text}\n`, { mode: 0o600 });
    return path;
  }
}
