import type { Host } from "../../wireguard/hosts/host.ts";
import { Internet } from "../../wireguard/hosts/internet.ts";
import type { Runtime } from "../hosts/bundled_program.ts";
import { KernelPeer } from "../hosts/kernel_peer.ts";
import { EmulatedPath, type PathOptions } from "../path/emulated_path.ts";
import { addPeer, channelTo, newKeyPair, TcpHost } from "./tcp_host.ts";

/** Addresses inside the tunnel. */
const INNER = {
  sandbox: { ipv4: "10.66.0.1", ipv6: "fd66::1" },
  kernel: { ipv4: "10.66.0.2", ipv6: "fd66::2" },
  other: { ipv4: "10.66.0.3", ipv6: "fd66::3" },
} as const;

/**
 * Up to three hosts of one tunnel. The left hosts reach the right one only through an emulated
 * path.
 */
export class Scene implements AsyncDisposable {
  private constructor(
    readonly path: EmulatedPath,
    /** On the left, if requested. */
    readonly sandbox: TcpHost | null,
    readonly other: TcpHost | null,
    /** On the right. */
    readonly kernel: TcpHost,
    readonly kernelHost: Host,
    private readonly stack: AsyncDisposableStack,
  ) {}

  /**
   * `sandbox`: the runtime of the sandbox peer. `hasOther`: adds a second host with regular
   * WireGuard. `congestion`: the congestion control of the kernel's TCP. Default: the machine's
   * own.
   */
  static async start(
    { sandbox: runtime = null, hasOther = false, path: pathOptions = {}, congestion }: {
      readonly sandbox?: Runtime | null;
      readonly hasOther?: boolean;
      readonly path?: PathOptions;
      readonly congestion?: "cubic" | "reno";
    },
  ): Promise<Scene> {
    await using stack = new AsyncDisposableStack();
    const internet = stack.use(await Internet.create());
    const router = await internet.addHost("path");
    const right = await startPeer(internet, "kernel", congestion);
    const channels = [channelTo(0, right), channelTo(1, right)];
    const path = stack.use(await EmulatedPath.start(router, channels, pathOptions));
    const asRight = (index: number) => ({
      publicKey: right.keys.publicKey,
      presharedKey: null,
      allowedIps: [`${INNER.kernel.ipv4}/32`, `${INNER.kernel.ipv6}/128`],
      endpoints: [{ address: router.address!, port: channels[index]!.leftPort, via: "udp" }],
    });
    let sandbox: TcpHost | null = null;
    if (runtime !== null) {
      const keys = await newKeyPair();
      const host = await internet.addHost("sandbox");
      const options = { inner: INNER.sandbox, runtime, keys };
      sandbox = stack.use(await TcpHost.startSandbox(host, options));
      await addPeer(right, { keys, inner: INNER.sandbox, endpoint: null });
      await sandbox.tell({ do: "setPeers", peers: [asRight(0)] });
    }
    let other: TcpHost | null = null;
    if (hasOther) {
      const left = await startPeer(internet, "other", congestion);
      const { keys } = left;
      await addPeer(right, { keys, inner: INNER.other, endpoint: null });
      const endpoint = `${router.address}:${channels[1]!.leftPort}`;
      await addPeer(left, { keys: right.keys, inner: INNER.kernel, endpoint });
      other = stack.use(await TcpHost.startKernel(left.host, INNER.other));
    }
    const kernel = stack.use(await TcpHost.startKernel(right.host, INNER.kernel));
    for (const left of [sandbox, other]) {
      // The left side sends first, so that the right side learns its endpoint.
      await left?.exchange({ to: INNER.kernel.ipv4, up: 1, down: 1, seed: 1 });
    }
    return new Scene(path, sandbox, other, kernel, right.host, stack.move());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stack.disposeAsync();
  }
}

async function startPeer(
  internet: Internet,
  name: "kernel" | "other",
  congestion = "",
): Promise<KernelPeer> {
  const host = await internet.addHost(name);
  const interfaceName = `${internet.id}-${name === "kernel" ? 0 : 1}`;
  const { ipv4, ipv6 } = INNER[name];
  const peer = await KernelPeer.start(host, { interfaceName, inner: ipv4 });
  await host.run(["ip", "address", "add", `${ipv6}/64`, "dev", interfaceName, "nodad"]);
  // A namespace cannot choose another default than the machine's, but its routes can.
  for (const network of congestion === "" ? [] : ["10.66.0.0/24", "fd66::/64"]) {
    const route = ["route", "replace", network, "dev", interfaceName, "congctl", congestion];
    await host.run(["ip", ...route]);
  }
  return peer;
}
