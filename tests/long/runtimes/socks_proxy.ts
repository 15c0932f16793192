/** A SOCKS5 proxy (RFC 1928, RFC 1929) that alone can resolve a certain name. */
import assert from "node:assert/strict";

export interface SocksProxyOptions {
  /** A name that only this proxy resolves, to this machine. */
  readonly name: string;
  /** The user that every client must send, with the password. */
  readonly user: string;
  readonly password: string;
}

export interface SocksProxy extends AsyncDisposable {
  /** Without user and password. */
  readonly host: string;
  /** `name:port` of every connection so far. */
  readonly connected: readonly string[];
}

export function startSocksProxy(options: SocksProxyOptions): SocksProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connected: string[] = [];
  const serving = (async () => {
    for await (const client of listener) {
      serve(client, options, connected).catch(() => {}).finally(() => closeQuietly(client));
    }
  })();
  return {
    host: `127.0.0.1:${listener.addr.port}`,
    connected,
    async [Symbol.asyncDispose]() {
      listener.close();
      await serving;
    },
  };
}

async function serve(
  client: Deno.TcpConn,
  { name, user, password }: SocksProxyOptions,
  connected: string[],
): Promise<void> {
  const [, methods] = await read(client, 2);
  assert.ok((await read(client, methods!)).includes(2), "a password is offered");
  await client.write(Uint8Array.of(5, 2));
  await read(client, 1);
  const given = [await readText(client), await readText(client)];
  const isRight = given[0] === user && given[1] === password;
  await client.write(Uint8Array.of(1, isRight ? 0 : 1));
  if (!isRight) return;
  // Accept only CONNECT to a name. Any other kind of address is refused.
  const [, command, , kind] = await read(client, 4);
  assert.deepEqual([command, kind], [1, 3]);
  const asked = await readText(client);
  const [high, low] = await read(client, 2);
  const port = high! * 256 + low!;
  connected.push(`${asked}:${port}`);
  const isKnown = asked === name;
  await client.write(Uint8Array.of(5, isKnown ? 0 : 4, 0, 1, 0, 0, 0, 0, 0, 0));
  if (!isKnown) return;
  const server = await Deno.connect({ hostname: "127.0.0.1", port });
  await Promise.all([
    client.readable.pipeTo(server.writable),
    server.readable.pipeTo(client.writable),
  ]).catch(() => {});
}

async function read(client: Deno.TcpConn, size: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  for (let filled = 0; filled < size;) {
    const count = await client.read(bytes.subarray(filled));
    assert.ok(count !== null, "the client has gone");
    filled += count;
  }
  return bytes;
}

/** Reads one byte with the length, then that many bytes of text. */
async function readText(client: Deno.TcpConn): Promise<string> {
  const [length] = await read(client, 1);
  return new TextDecoder().decode(await read(client, length!));
}

function closeQuietly(client: Deno.TcpConn): void {
  try {
    client.close();
  } catch {
    // The pipes have closed it already.
  }
}
