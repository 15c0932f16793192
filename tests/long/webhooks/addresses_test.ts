/** Where a delivery, or a request to an issuer, goes if a name leads to several places. */
import assert from "node:assert/strict";
import { makeCertificate } from "../../../packages/agent-files/tests/http/certificate.ts";
import { Host } from "../../wireguard/hosts/host.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { CERTIFIED, IMPOSTOR, OUTSIDE, type Sent, ZONE } from "./programs/names.ts";

const PROJECT = new URL("../../../", import.meta.url).pathname;

const NOTHING = { outside: 0, inside: 0, impostor: 0, asked: 1 };
const LEADS_INSIDE = "has an address inside a private network.";

tunnelTest(
  "a delivery → to the address that was checked, if the name leads elsewhere a moment later; to none inside; with the certificate of the name alone",
  async () => {
    await using host = await Host.create(`hook${crypto.randomUUID().slice(0, 6)}`, null);
    const { "impostor.hooks.example.com": impostor, ...sent } = await run("send_by_name", host);
    assert.deepEqual(impostor, { ...NOTHING, answer: "unreachable" });
    assert.deepEqual(sent, {
      ...answers({ inside: "address_refused", nowhere: "unreachable" }),
      ...arrived("public.hooks.example.com"),
      ...arrived("first-outside.hooks.example.com"),
    });
  },
);

tunnelTest(
  "an issuer that is asked for its keys → at the address that was checked, if its name leads elsewhere a moment later; at none inside; with the certificate of the name alone",
  async () => {
    await using host = await Host.create(`ask${crypto.randomUUID().slice(0, 6)}`, null);
    const { "impostor.hooks.example.com": impostor, ...sent } = await run("ask_by_name", host);
    assert.match(String(impostor!.answer), /certificate/);
    assert.deepEqual({ ...impostor, answer: "" }, { ...NOTHING, answer: "" });
    assert.deepEqual(sent, {
      ...answers({ inside: LEADS_INSIDE, nowhere: "has no address." }),
      ...arrived("public.hooks.example.com", "answered with status 204."),
      ...arrived("first-outside.hooks.example.com", "answered with status 204."),
    });
  },
);

/** What is said of each name that leads inside, and of the one that leads nowhere. */
function answers(
  { inside, nowhere }: { readonly inside: string; readonly nowhere: string },
): Record<string, Sent> {
  const names = Object.keys(ZONE).filter((name) => !name.startsWith("impostor"));
  return Object.fromEntries(names.map((name) => {
    const answer = name.startsWith("nowhere") ? nowhere : inside;
    return [name, { ...NOTHING, answer }];
  }));
}

/** A request to OUTSIDE: the name was looked up once, and is in the Host header. */
function arrived(name: string, answer: number | string = 204): Record<string, Sent> {
  return { [name]: { ...NOTHING, answer, outside: 1 } };
}

/** Runs one of `programs/` in the host's network. */
async function run(program: string, host: Host): Promise<Record<string, Sent>> {
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
    new URL(`programs/${program}.ts`, import.meta.url).pathname,
    host.directory,
  ]);
  return JSON.parse(printed.trim().split("\n").at(-1)!);
}
