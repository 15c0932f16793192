import assert from "node:assert/strict";
import { join } from "node:path";
import { ConfigurationFile } from "../../forwarding/agent/configuration_file.ts";

/** The file as an agent may write it: in the form of a configuration for wg-quick. */
function configurationOf({ port }: { readonly port: boolean }): string {
  return `[Interface]
Address = 10.213.0.1/16
${port ? "ListenPort = 51820\n" : ""}Table = off

[Peer]
# hidden
PublicKey = a=
AllowedIPs = 10.213.0.2/32, fd06::2/128
PersistentKeepalive = 25

[Peer]
# builder
PublicKey = b=
AllowedIPs = 10.213.0.3/32, fd06::3/128
Endpoint = 192.0.2.1:51820

[Peer]
# named
PublicKey = c=
AllowedIPs = 10.213.0.4/32, fd06::4/128
#name c= endpoint named.example:51820
`;
}

/** Replaces the file atomically, as the agent does. */
async function replace(file: string, text: string): Promise<void> {
  await Deno.writeTextFile(`${file}.new`, text);
  await Deno.rename(`${file}.new`, file);
}

Deno.test("peers with an endpoint, a name and neither → apart from the last; not if this host has a port", async () => {
  const folder = await Deno.makeTempDir({ prefix: "configuration-" });
  try {
    const file = join(folder, "mesh0.conf");
    const configuration = new ConfigurationFile(file);
    const apart = () => ["a=", "b=", "c=", "d="].filter((key) => configuration.isApart(key));
    await configuration.read();
    assert.deepEqual(apart(), []);
    await replace(file, configurationOf({ port: false }));
    await configuration.read();
    assert.deepEqual(apart(), ["a="]);
    const { version } = configuration;
    await configuration.read();
    assert.equal(configuration.version, version);
    await replace(file, configurationOf({ port: true }));
    await Deno.utime(file, 1, 1);
    await configuration.read();
    assert.notEqual(configuration.version, version);
    assert.deepEqual(apart(), []);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("another configuration, and a signal → the wait for an hour ends; other files do not end it", async () => {
  const folder = await Deno.makeTempDir({ prefix: "configuration-" });
  const ended = new AbortController();
  const file = join(folder, "mesh0.conf");
  const configuration = new ConfigurationFile(file);
  const other = new ConfigurationFile(join(folder, "mesh0.path"));
  const hour = (of = configuration) => of.untilChanged(3_600_000, ended.signal);
  try {
    let changes = 0;
    const waiting = hour().then(() => changes++);
    const otherChanged = hour(other);
    await replace(join(folder, "mesh0.path"), "");
    await otherChanged;
    assert.equal(changes, 0);
    await replace(file, configurationOf({ port: false }));
    await waiting;
    const last = hour();
    ended.abort();
    await last;
    await hour();
  } finally {
    for (const one of [configuration, other]) one.close();
    await Deno.remove(folder, { recursive: true });
  }
});
