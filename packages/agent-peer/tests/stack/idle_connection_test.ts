import { fileURLToPath } from "node:url";
import { run } from "../../../../tests/wireguard/hosts/run_program.ts";

const PROGRAM = fileURLToPath(new URL("./idle_connection.ts", import.meta.url));

Deno.test("8,500 connections that nobody answers, beside one that is idle → the next configuration leaves that open, and bytes come by it", async () => {
  await run([Deno.execPath(), "run", "--allow-all", "--unstable-net", "--no-check", PROGRAM]);
});
