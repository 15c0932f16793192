/**
 * Runs in a network of its own, where it also answers DNS. Asks an issuer at each name of ZONE for
 * its keys, as a function does, and prints what became of it, as JSON.
 *
 * Usage: ask_by_name.ts <folder with key, cert, impostor-key and impostor-cert>
 */
import { fetchJson } from "../../../../supabase/functions/_shared/identity/issuers/pinned_request.ts";
import { IMPOSTOR, OUTSIDE, type Sent, ZONE } from "./names.ts";
import { startResolver } from "./resolver.ts";
import { type SecureReceiver, startSecureReceiver } from "./secure_receiver.ts";

const [folder = "."] = Deno.args;
const read = (name: string) => Deno.readTextFile(`${folder}/${name}`);
const certified = { key: await read("key"), cert: await read("cert") };
const other = { key: await read("impostor-key"), cert: await read("impostor-cert") };

const resolver = await startResolver(ZONE);
await using outside = startSecureReceiver({ ...certified, hostname: OUTSIDE });
await using inside = startSecureReceiver({ ...certified, hostname: "127.0.0.1" });
await using impostor = startSecureReceiver({ ...other, hostname: IMPOSTOR });
const sent: Record<string, Sent> = {};
for (const name of Object.keys(ZONE)) {
  const options = { allowLoopback: false, signal: AbortSignal.timeout(30_000) };
  const answer = await fetchJson(`https://${name}/keys`, options)
    .then(() => "keys", ({ message }: Error) => message);
  const arrivedAt = ({ hosts }: SecureReceiver) => hosts.filter((host) => host === name).length;
  sent[name] = {
    answer,
    outside: arrivedAt(outside),
    inside: arrivedAt(inside),
    impostor: arrivedAt(impostor),
    asked: resolver.asked(name),
  };
}
resolver.close();
console.log(JSON.stringify(sent));
