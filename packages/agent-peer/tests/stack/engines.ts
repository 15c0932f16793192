/** Two engines in one process, whose datagrams go from one to the other. */
import { randomBytes } from "node:crypto";
import type { Engine } from "../../mesh/engine/engine.ts";
import { openLocalEngine } from "../../mesh/engine/local_engine.ts";
import type { Flow } from "../../mesh/flows/flow.ts";
import type { MeshConfiguration } from "../../service.ts";
import type { UdpOptions } from "../../wireguard/sockets/udp_socket.ts";

export interface Rule {
  readonly from: string;
  readonly to: string;
  readonly port: number;
  /** Default: tcp. */
  readonly proto?: "tcp" | "udp";
}

export interface Side {
  readonly name: string;
  /** Its address in the mesh. */
  readonly address: string;
  readonly engine: Engine;
  /** The flows that it was told. */
  readonly told: Flow[];
}

const NAMES = ["planner", "builder"] as const;
const PORT = 51_820;

export class Engines implements AsyncDisposable {
  readonly planner: Side;
  readonly builder: Side;
  readonly #presharedKey = randomBytes(32).toString("base64");

  private constructor([planner, builder]: readonly [Side, Side]) {
    this.planner = planner;
    this.builder = builder;
  }

  static async open(): Promise<Engines> {
    const sockets = new Map<string, UdpOptions["onDatagram"]>();
    const sides = NAMES.map((name, index) => openSide(name, index + 1, sockets));
    return new Engines(await Promise.all(sides) as [Side, Side]);
  }

  /** Sets the rules on the sides that are named, in their order. Default: both. */
  async setRules(rules: readonly Rule[], names: readonly string[] = NAMES): Promise<void> {
    for (const name of names) {
      const [self, other] = name === "planner"
        ? [this.planner, this.builder]
        : [this.builder, this.planner];
      await self.engine.configure(this.#configuration(self, other, rules));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.planner.engine.close();
    await this.builder.engine.close();
  }

  #configuration(self: Side, other: Side, rules: readonly Rule[]): MeshConfiguration {
    return {
      agent_id: self.name,
      config_version: 1,
      interface: { addresses: [`${self.address}/16`], mtu: 1280, listen_port: null },
      peers: [{
        agent_id: other.name,
        name: other.name,
        public_key: other.engine.publicKey,
        preshared_key: this.#presharedKey,
        allowed_ips: [`${other.address}/32`],
        endpoints: [`${outside(other.address)}:${PORT}`],
        observed_endpoint: null,
        persistent_keepalive: 0,
      }],
      rules: rules.map(({ from, to, port, proto = "tcp" }) => ({
        from_agent: from,
        to_agent: to,
        port,
        proto,
      })),
      relay: false,
    } as MeshConfiguration;
  }
}

/** Where a side is in the network outside. */
function outside(address: string): string {
  return address.replace("10.213.", "192.0.");
}

async function openSide(
  name: string,
  number: number,
  sockets: Map<string, UdpOptions["onDatagram"]>,
): Promise<Side> {
  const address = `10.213.2.${number}`;
  const told: Flow[] = [];
  const place = outside(address);
  const engine = await openLocalEngine(
    { privateKey: new Uint8Array(randomBytes(32)), listenPort: PORT, stunServers: [], proxy: null },
    {
      iceServers: () => new Promise(() => {}),
      onEndpoints: () => {},
      onFailure: (error) => {
        throw error;
      },
      onFlow: (flow) => told.push(flow),
    },
    {
      openSocket: ({ via, onDatagram }) => {
        sockets.set(place, onDatagram);
        return Promise.resolve({
          via,
          port: PORT,
          families: ["ipv4" as const],
          send(datagram: Uint8Array, to: { readonly address: string }) {
            const copy = datagram.slice();
            const from = { address: place, port: PORT, via: "udp" };
            setTimeout(() => sockets.get(to.address)?.(copy, from), 0);
          },
          close: () => void sockets.delete(place),
        });
      },
      localAddresses: () => [place],
      lookUp: () => Promise.reject(new Error("There are no names.")),
    },
  );
  return { name, address, engine, told };
}
