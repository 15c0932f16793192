/**
 * Runs in a network of its own, where it also answers DNS. Has the real function deliver an event
 * to each name of ZONE, and prints what became of it, as JSON.
 *
 * Usage: send_by_name.ts <folder with key, cert, impostor-key and impostor-cert>
 */
import { startFunction } from "../../../../packages/local/stack/functions.ts";
import { withWebhooks } from "../../../database/webhooks/receiver.ts";
import { IMPOSTOR, OUTSIDE, type Sent, ZONE } from "./names.ts";
import { startResolver } from "./resolver.ts";
import { type SecureReceiver, startSecureReceiver } from "./secure_receiver.ts";

const [folder = "."] = Deno.args;
const read = (name: string) => Deno.readTextFile(`${folder}/${name}`);
const certified = { key: await read("key"), cert: await read("cert") };
const other = { key: await read("impostor-key"), cert: await read("impostor-cert") };
const names = Object.keys(ZONE);
// Whatever the function tries, only its own checks may refuse it.
const reachableHosts = [...names, OUTSIDE, IMPOSTOR, "127.0.0.1", "10.0.0.1", "169.254.169.254"];

const resolver = await startResolver(ZONE);
await using outside = startSecureReceiver({ ...certified, hostname: OUTSIDE });
await using inside = startSecureReceiver({ ...certified, hostname: "127.0.0.1" });
await using impostor = startSecureReceiver({ ...other, hostname: IMPOSTOR });
const sent: Record<string, Sent> = {};
await withWebhooks(async ({ create, record, deliver, deliveries, sql }) => {
  const made = await Promise.all(names.map(async (name) => {
    const { webhook_id } = await create({ url: `https://${name}/hook` });
    return { name, webhook_id };
  }));
  await sql`delete from agents.webhook_deliveries where true`;
  await record();
  await deliver();
  for (const { name, webhook_id } of made) {
    const [delivery] = await deliveries(webhook_id);
    const arrivedAt = ({ hosts }: SecureReceiver) => hosts.filter((host) => host === name).length;
    sent[name] = {
      answer: (delivery!["last_status"] ?? delivery!["last_error"]) as number | string,
      outside: arrivedAt(outside),
      inside: arrivedAt(inside),
      impostor: arrivedAt(impostor),
      asked: resolver.asked(name),
    };
  }
}, { startFunction: (options) => startFunction({ ...options, reachableHosts }) });
resolver.close();
console.log(JSON.stringify(sent));
