import assert from "node:assert/strict";
import { runProgram } from "../../../../local/processes/run_program.ts";
import { Deployment, type OtherFunction, withOtherSources } from "../deployment.ts";
import { NpxStandIn } from "./npx_stand_in.ts";
import { mendAsPrinted } from "./printed.ts";

interface SettingFault {
  readonly name: OtherFunction["name"];
  readonly environment: Readonly<Record<string, string>>;
  readonly check: string;
  readonly message: RegExp;
}

const FAULTS: readonly SettingFault[] = [
  {
    name: "agent-mesh",
    environment: { PSK_ENCRYPTION_KEYS: "" },
    check: "PSK keys",
    message: /PSK_ENCRYPTION_KEYS is not set/,
  },
  {
    name: "agent-mesh",
    environment: { MESH_ONLINE_SECONDS: "30" },
    check: "limits",
    message: /^Peers are online for 30 s/,
  },
  {
    name: "agent-mesh",
    environment: { MESH_ONLINE_SECONDS: "soon" },
    check: "agent-mesh",
    message: /MESH_ONLINE_SECONDS must be /,
  },
  {
    name: "agent-mesh",
    environment: { MESH_MAX_REQUESTS: "50" },
    check: "limits",
    message: /^MESH_MAX_REQUESTS_PER_TARGET, 100, is never reached/,
  },
  {
    name: "agent-mesh",
    environment: { RATE_LIMIT_REQUESTS_PER_MINUTE: "2" },
    check: "limits",
    message: /^The heartbeats of an agent alone use up /,
  },
  {
    name: "agent-artifacts",
    environment: { ARTIFACTS_QUOTA_BYTES: "1000" },
    check: "limits",
    message: /^No agent can hold a file of 52428800 bytes /,
  },
  {
    name: "agent-artifacts",
    environment: { ARTIFACTS_MAX_SIZE_BYTES: "104857600" },
    check: "file size",
    message: /the limit of the project is 52428800\.$/,
  },
  {
    name: "agent-mesh",
    environment: { ACCEPT_LEGACY_KEYS: "true" },
    check: "legacy key",
    message: /^agent-mesh accepts the legacy service_role key /,
  },
  {
    name: "agent-mesh",
    environment: { SUPABASE_SECRET_KEYS: "{}" },
    check: "agent-mesh",
    message: /^The function does not accept SUPABASE_SECRET_KEY /,
  },
];

Deno.test("settings of functions, one fault at a time → the remedy, pasted as printed, mends it", async (test) => {
  await using deployment = await Deployment.open();
  for (const { name, environment, check, message } of FAULTS) {
    await test.step(`${name} with ${JSON.stringify(environment)}`, async () => {
      await using npx = await NpxStandIn.make();
      const complaints = await deployment.complaintsWith({ name, environment });
      assert.deepEqual(complaints.map((found) => found.check), [check]);
      assert.match(complaints[0]!.message, message);
      await mendAsPrinted(deployment, complaints, npx.environment);
      const mended = await npx.apply(environment);
      assert.deepEqual(await deployment.complaintsWith({ name, environment: mended }), []);
    });
  }

  await test.step("a function of another release → deploying, as printed, mends it", async () => {
    await using npx = await NpxStandIn.make();
    const change = { file: "_shared/request/version.ts", from: '"unreleased"', to: '"0.9.0"' };
    const complaints = await withOtherSources(
      change,
      (functionsDirectory) => deployment.complaintsWith({ name: "agent-mesh", functionsDirectory }),
    );
    assert.deepEqual(complaints.map((found) => found.check), ["agent-mesh"]);
    await mendAsPrinted(deployment, complaints, npx.environment);
    assert.deepEqual(await npx.apply({}), {});
    assert.deepEqual(await deployment.complaintsWith({ name: "agent-mesh" }), []);
  });

  const { publishableKey, secretKey, anonKey } = deployment.stack;
  for (const wrong of [publishableKey, anonKey]) {
    await test.step("a publishable key in place of the secret key → that it is one, and no missing bucket; the right one, entered, mends it", async () => {
      const complaints = await deployment.complaints({ SUPABASE_SECRET_KEY: wrong });
      assert.equal(complaints[0]!.check, "secret key");
      assert.match(complaints[0]!.message, /^SUPABASE_SECRET_KEY is a publishable key: /);
      assert.deepEqual(complaints.filter(({ check }) => check === "bucket"), []);
      assert.ok(!JSON.stringify(complaints).includes(wrong));
      const { output } = await runProgram("bash", {
        args: ["-c", `${complaints[0]!.paste!.text}; printenv SUPABASE_SECRET_KEY`],
        input: `${secretKey}\n`,
      });
      assert.deepEqual(await deployment.complaints({ SUPABASE_SECRET_KEY: output.trim() }), []);
    });
  }

  await test.step("a publishable key, where no migration was applied → the key, and no missing bucket", async () => {
    const complaints = await deployment.complaintsThrough(
      ({ path }) =>
        path.includes("/rpc/agent_api_inspect_deployment")
          ? Response.json({ code: "PGRST202", message: "Could not find it" }, { status: 404 })
          : undefined,
      { SUPABASE_SECRET_KEY: publishableKey },
    );
    assert.deepEqual(complaints.map(({ check }) => check), ["secret key"]);
  });
});
