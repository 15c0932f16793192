import { createAgent } from "../../conformance/client.ts";
import { stackEncryptionKeys } from "../../own_function/mesh_function.ts";
import { startOwnFunction } from "../../own_function/own_function.ts";
import { RELAY_SECRET, RelayHost } from "../../paths/hosts/relay_host.ts";
import { addSite, type Site } from "../../paths/hosts/sites.ts";
import { Mesh } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import type { Runtime } from "./programs.ts";
import { Sandbox } from "./sandbox.ts";

/** A mesh of sandboxes behind all kinds of routers, with or without a relay. */
export class SitesMesh implements AsyncDisposable {
  readonly #stack: AsyncDisposableStack;

  private constructor(
    readonly mesh: Mesh,
    private readonly relay: {
      readonly host: RelayHost;
      /** The URL of the agent-mesh that knows the relay. */
      readonly meshFunction: string;
      /** A file that every user can read. */
      readonly authority: string;
    } | null,
    stack: AsyncDisposableStack,
  ) {
    this.#stack = stack;
  }

  static async create({ hasRelay }: { readonly hasRelay: boolean }): Promise<SitesMesh> {
    await using stack = new AsyncDisposableStack();
    // Register the cleanup first, so that the folder is deleted after its users have ended.
    const folder = await Deno.makeTempDir({ prefix: "sites-" });
    stack.defer(() => Deno.remove(folder, { recursive: true }));
    await Deno.chmod(folder, 0o755);
    const functions = stack.use(new AsyncDisposableStack());
    const mesh = stack.use(await Mesh.create());
    const relay = hasRelay ? await startRelay(mesh, { functions, folder }) : null;
    return new SitesMesh(mesh, relay, stack.move());
  }

  /** Drops UDP between all hosts except the relay, until `letUdpPass`. */
  async dropUdp(): Promise<void> {
    const { address } = this.relay!.host.host;
    const input = `table ip between {
  chain forward {
    type filter hook forward priority filter;
    ip saddr != ${address} ip daddr != ${address} meta l4proto udp drop
  }
}`;
    await this.mesh.internet.router.run(["nft", "-f", "-"], { input });
  }

  async letUdpPass(): Promise<void> {
    await this.mesh.internet.router.run(["nft", "delete", "table", "ip", "between"]);
  }

  /** A new agent on a new host that has joined the mesh. */
  async join(
    name: string,
    { site, runtime = "node" }: { readonly site: Site; readonly runtime?: Runtime },
  ): Promise<Sandbox> {
    const { mesh, relay } = this;
    const { host, proxy } = await addSite(mesh.internet, name, site);
    const door = { ...(relay !== null && { meshFunction: relay.meshFunction }) };
    mesh.attach(await ServiceDoor.open(host, door));
    const environment = {
      ...(proxy !== null && { HTTPS_PROXY: proxy, NO_PROXY: "127.0.0.1" }),
      ...(relay !== null &&
        { NODE_EXTRA_CA_CERTS: relay.authority, DENO_CERT: relay.authority }),
    };
    const agent = await createAgent(name);
    return await Sandbox.start(mesh, { host, agent, runtime, environment });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack[Symbol.asyncDispose]();
  }
}

async function startRelay(
  mesh: Mesh,
  { functions, folder }: { readonly functions: AsyncDisposableStack; readonly folder: string },
) {
  const host = await RelayHost.start(await mesh.internet.addHost("relay"));
  const { process } = functions.use(
    await startOwnFunction({
      name: "agent-mesh",
      environment: {
        PSK_ENCRYPTION_KEYS: await stackEncryptionKeys(),
        MESH_TURN_URLS: host.urls.join(","),
        MESH_TURN_SECRET: RELAY_SECRET,
      },
    }),
  );
  const authority = `${folder}/authority.pem`;
  await Deno.writeTextFile(authority, host.authority, { mode: 0o644 });
  return { host, meshFunction: process.url, authority };
}
