import { fileURLToPath } from "node:url";
import { readConnection, runCommand } from "./operator_call.ts";

const SUITE = fileURLToPath(new URL("../tests/conformance/", import.meta.url));

/** Runs the black-box suite against a deployment, over HTTP alone; arguments go to `deno test`. */
await runCommand(async () => {
  const suite = new Deno.Command(Deno.execPath(), {
    args: ["test", "--allow-env", "--allow-net", "--allow-read", ...Deno.args, SUITE],
    env: await readConnection(),
  }).spawn();
  Deno.exit((await suite.status).code);
});
