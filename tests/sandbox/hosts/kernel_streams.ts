import { eventually } from "../../wireguard/hosts/run_program.ts";
import type { Host } from "../../wireguard/hosts/host.ts";

/** Reads a connection to its end, and says how it ended and after how many bytes. */
const SERVER = `
import socket, sys
listener = socket.create_server(("::", int(sys.argv[1])), family=socket.AF_INET6, dualstack_ipv6=True)
print("listening", flush=True)
while True:
    connection, _ = listener.accept()
    print("accepted", flush=True)
    count = 0
    try:
        while True:
            data = connection.recv(65536)
            if not data: break
            count += len(data)
        print("ended", count, flush=True)
    except OSError as error:
        print("broke", error.errno, count, flush=True)
    connection.close()
`;

/** Sends for ever, and says how that ended. With "reset", it resets the connection at the end. */
const CLIENT = `
import socket, struct, sys, time
address, port, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
connection = socket.create_connection((address, port), 20)
connection.settimeout(None)
print("connected", flush=True)
try:
    for count in range(10 if how == "reset" else 10**9):
        connection.sendall(bytes(8192))
        time.sleep(0.01)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    print("reset", flush=True)
except OSError as error:
    print("broke", error.errno, flush=True)
`;

/** The lines of a program of a kernel's host. */
export class KernelStream {
  constructor(private readonly host: Host, private readonly logName: string) {}

  static async serve(host: Host, port: number): Promise<KernelStream> {
    const logName = `stream-server-${port}`;
    host.start(["python3", "-c", SERVER, String(port)], { logName });
    const stream = new KernelStream(host, logName);
    await stream.says(/^listening$/m);
    return stream;
  }

  static async send(
    host: Host,
    { address, port, how }: { address: string; port: number; how: "reset" | "for ever" },
  ): Promise<KernelStream> {
    const logName = `stream-client-${port}`;
    host.start(["python3", "-c", CLIENT, address, String(port), how], { logName });
    const stream = new KernelStream(host, logName);
    await stream.says(/^connected$/m);
    return stream;
  }

  /** Waits until it has said this, and resolves to everything that it has said. */
  async says(text: RegExp): Promise<string> {
    await eventually(`${this.logName} says ${text}`, {
      condition: async () => text.test(await this.host.readLog(this.logName)),
    }).catch(async (error) => {
      throw new Error(`${error.message}: ${await this.host.readLog(this.logName)}`);
    });
    return await this.host.readLog(this.logName);
  }
}
