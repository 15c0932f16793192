/** Where a delivery goes if the name of its receiver leads to several places, or changes. */
import assert from "node:assert/strict";
import { makeCertificate } from "../../../packages/agent-files/tests/http/certificate.ts";
import { Host } from "../../wireguard/hosts/host.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { CERTIFIED, IMPOSTOR, OUTSIDE, type Sent, ZONE } from "./programs/names.ts";

const PROGRAM = new URL("programs/send_by_name.ts", import.meta.url).pathname;
const PROJECT = new URL("../../../", import.meta.url).pathname;

const NOTHING = { outside: 0, inside: 0, impostor: 0, asked: 1 };
const REFUSED = { ...NOTHING, answer: "address_refused" };

tunnelTest(
  "a delivery → to the address that was checked, if the name leads elsewhere a moment later; to none inside; with the certificate of the name alone",
  async () => {
    await using host = await Host.create(`hook${crypto.randomUUID().slice(0, 6)}`, null);
    const sent = await sendByName(host);
    assert.deepEqual(sent, {
      ...Object.fromEntries(Object.keys(ZONE).map((name) => [name, REFUSED])),
      ...arrived("public.hooks.example.com"),
      ...arrived("first-outside.hooks.example.com"),
      "impostor.hooks.example.com": { ...NOTHING, answer: "unreachable" },
      "nowhere.hooks.example.com": { ...NOTHING, answer: "unreachable" },
    });
  },
);

/** A delivery to OUTSIDE: the name was looked up once, and is in the Host header. */
function arrived(name: string): Record<string, Sent> {
  return { [name]: { ...NOTHING, answer: 204, outside: 1 } };
}

async function sendByName(host: Host): Promise<Record<string, Sent>> {
  for (const address of [OUTSIDE, IMPOSTOR]) {
    await host.run(["ip", "address", "add", `${address}/32`, "dev", "lo"]);
  }
  await Deno.writeTextFile(`/etc/netns/${host.namespace}/resolv.conf`, "nameserver 127.0.0.1\n");
  const certified = await makeCertificate(CERTIFIED);
  const impostor = await makeCertificate("impostor.example.org");
  const files = {
    key: certified.key,
    cert: certified.cert,
    "impostor-key": impostor.key,
    "impostor-cert": impostor.cert,
    authorities: `${certified.authority}\n${impostor.authority}`,
  };
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(`${host.directory}/${name}`, text);
  }
  const printed = await host.run([
    "env",
    `--chdir=${PROJECT}`,
    `DENO_CERT=${host.directory}/authorities`,
    Deno.execPath(),
    "run",
    "--quiet",
    "--allow-all",
    "--no-check",
    "--frozen",
    "--lock=dev/deno.lock",
    PROGRAM,
    host.directory,
  ]);
  return JSON.parse(printed.trim().split("\n").at(-1)!);
}
