import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import nacl from "tweetnacl";
import { PROJECT } from "../../../local/project.ts";
import type { Finding } from "../../doctor/findings/finding.ts";
import { freePort } from "../../../local/processes/free_port.ts";
import { Deployment, type OtherFunction, remedyIn, withOtherSources } from "./deployment.ts";

const DEPLOY = /npx supabase@[\d.]+ functions deploy agent-artifacts agent-mesh --use-api$/;
const SET = /npx supabase@[\d.]+ secrets set (?:[A-Z_]+=\d+|--env-file ~\/psk\.env)$/;

interface SettingFault {
  readonly setting: OtherFunction;
  readonly check: string;
  readonly level?: "note" | "fault";
  readonly message: RegExp;
  readonly remedy: RegExp;
}

const SETTINGS: readonly SettingFault[] = [
  {
    setting: { name: "agent-mesh", environment: { PSK_ENCRYPTION_KEYS: "" } },
    check: "PSK keys",
    message: /^\/wg_config gives no configuration: HTTP 503, PSK_ENCRYPTION_KEYS is not set\./,
    remedy: SET,
  },
  {
    setting: {
      name: "agent-mesh",
      environment: { MESH_TURN_URLS: "turn:turn.example.com:3478" },
    },
    check: "agent-mesh",
    message: /^The function cannot serve: HTTP 503, MESH_TURN_URLS needs MESH_TURN_SECRET: /,
    remedy: / secrets unset MESH_TURN_URLS$/,
  },
  {
    setting: { name: "agent-mesh", environment: { MESH_ONLINE_SECONDS: "30" } },
    check: "limits",
    message: /^Peers are online for 30 s, and agents send a heartbeat every 30 s /,
    remedy: /^Set MESH_ONLINE_SECONDS to 90 or more\. /,
  },
  {
    setting: { name: "agent-mesh", environment: { MESH_ONLINE_SECONDS: "45" } },
    check: "limits",
    level: "note",
    message: /^One lost heartbeat takes a peer offline: /,
    remedy: SET,
  },
  {
    setting: { name: "agent-mesh", environment: { MESH_MAX_REQUESTS: "50" } },
    check: "limits",
    level: "note",
    message: /^MESH_MAX_REQUESTS_PER_TARGET, 100, is never reached: MESH_MAX_REQUESTS is 50\.$/,
    remedy: SET,
  },
  {
    setting: { name: "agent-mesh", environment: { RATE_LIMIT_REQUESTS_PER_MINUTE: "2" } },
    check: "limits",
    message: /^The heartbeats of an agent alone use up RATE_LIMIT_REQUESTS_PER_MINUTE, 2\.$/,
    remedy: SET,
  },
  {
    setting: { name: "agent-artifacts", environment: { ARTIFACTS_QUOTA_BYTES: "1000" } },
    check: "limits",
    message: /^No agent can hold a file of 52428800 bytes .*: its quota is 1000 /,
    remedy: SET,
  },
  {
    setting: { name: "agent-artifacts", environment: { ARTIFACTS_MAX_SIZE_BYTES: "104857600" } },
    check: "file size",
    message: /^\/register accepts 104857600 bytes, but the limit of the project is 52428800\.$/,
    remedy: /^Lower ARTIFACTS_MAX_SIZE_BYTES, or raise the limit of the project: /,
  },
  {
    setting: { name: "agent-mesh", environment: { MESH_ONLINE_SECONDS: "soon" } },
    check: "agent-mesh",
    message: /^The function cannot serve: HTTP 503, MESH_ONLINE_SECONDS must be /,
    remedy: /docs\/configuration\.md/,
  },
  {
    setting: { name: "agent-mesh", environment: { ACCEPT_LEGACY_KEYS: "true" } },
    check: "legacy key",
    level: "note",
    message: /^agent-mesh accepts the legacy service_role key as the operator's\. .*rotated\.$/,
    remedy:
      /^Send a secret key in its place everywhere, then unset ACCEPT_LEGACY_KEYS\. .* secrets unset ACCEPT_LEGACY_KEYS$/,
  },
  ...(["agent-artifacts", "agent-mesh"] as const).map((name): SettingFault => ({
    // Leaves the function only the older key of its environment, which is not the operator's key.
    setting: { name, environment: { SUPABASE_SECRET_KEYS: "{}" } },
    check: name,
    message: /^The function does not accept SUPABASE_SECRET_KEY as the operator's\.$/,
    remedy: DEPLOY,
  })),
];

/** Fails unless this is the only complaint. */
function assertOnly(
  complaints: readonly Finding[],
  { check, level = "fault", message, remedy }: Omit<SettingFault, "setting">,
): void {
  assert.deepEqual(complaints.map((found) => [found.check, found.level]), [[check, level]]);
  assert.match(complaints[0]!.message, message);
  assert.match(remedyIn(complaints[0]!), remedy);
}

Deno.test("the doctor of functions with one fault after the other → each alone, with its remedy", async (test) => {
  await using deployment = await Deployment.open();

  for (const { setting, ...complaint } of SETTINGS) {
    await test.step(`${setting.name} with ${JSON.stringify(setting.environment)}`, async () => {
      assertOnly(await deployment.complaintsWith(setting), complaint);
    });
  }

  await test.step("PSKs under a key that the functions do not have → a fault; that is not their newest → a note", async () => {
    for (const agent_id of ["alice", "bob"]) {
      const pubkey = nacl.box.keyPair().publicKey.toBase64();
      await deployment.ask("/agent-mesh/peer/register", { agent_id, pubkey });
    }
    const rule = { from_agent: "alice", to_agent: "bob", port: 22, proto: "tcp" };
    await deployment.ask("/agent-mesh/acl/put", rule);
    await deployment.ask("/agent-mesh/wg_config", { agent_id: "alice" });
    const { PSK_ENCRYPTION_KEYS: before } = deployment.stack.functionEnvironment();
    const newer = randomBytes(32).toString("base64");
    const findWith = (keys: string) =>
      deployment.complaintsWith({
        name: "agent-mesh",
        environment: { PSK_ENCRYPTION_KEYS: keys },
      });
    assertOnly(await findWith(newer), {
      check: "PSK keys",
      message: /^1 PSKs or more are encrypted with the encryption key \w+, which PSK_ENCRYPTION_/,
      remedy: /^Add this encryption key at the end of PSK_ENCRYPTION_KEYS; /,
    });
    assertOnly(await findWith(`${newer},${before}`), {
      check: "PSK keys",
      level: "note",
      message: /^1 PSKs or more are encrypted with the older encryption key \w+\.$/,
      remedy: /^Encrypt them again, .* npx -y deno@[\d.]+ task agentops psk reencrypt$/,
    });
  });

  await test.step("a function of another release → its version and this one's", async () => {
    const change = { file: "_shared/request/version.ts", from: '"unreleased"', to: '"0.9.0"' };
    await withOtherSources(change, async (functionsDirectory) => {
      assertOnly(await deployment.complaintsWith({ name: "agent-mesh", functionsDirectory }), {
        check: "agent-mesh",
        message: /^The function is of release 0\.9\.0, this checkout of unreleased\.$/,
        remedy: DEPLOY,
      });
    });
  });

  await test.step("a function of this version from another checkout → its document differs", async () => {
    const change = {
      file: "agent-mesh/routes/peer_remove.ts",
      from: "summary: ",
      to: "summary: 'Before: ' + ",
    };
    await withOtherSources(change, async (functionsDirectory) => {
      assertOnly(await deployment.complaintsWith({ name: "agent-mesh", functionsDirectory }), {
        check: "agent-mesh",
        message: /^The function is of another checkout: /,
        remedy: DEPLOY,
      });
    });
  });

  await test.step("a function that tells the operator no version → older than this checkout", async () => {
    assertOnly(
      await deployment.complaintsThrough(({ path }) =>
        path === "/functions/v1/agent-mesh/health" ? Response.json({ status: "ok" }) : undefined
      ),
      {
        check: "agent-mesh",
        message: /^The function is older than this checkout: /,
        remedy: DEPLOY,
      },
    );
  });

  await test.step("a function whose clock is an hour late → whose, and by how much", async () => {
    const directory = join(PROJECT, "supabase", "functions", "agent-mesh");
    const program = {
      deno: Deno.execPath(),
      args: [
        `--config=${join(directory, "deno.json")}`,
        "--unstable-no-legacy-abort",
        `--preload=${join(import.meta.dirname!, "late_clock.js")}`,
        join(directory, "index.ts"),
      ],
    };
    assertOnly(await deployment.complaintsWith({ name: "agent-mesh", program }), {
      check: "clocks",
      message: /^The clock of agent-mesh is (?:3599|360[01]) s behind that of the database: /,
      remedy: /NTP/,
    });
  });

  await test.step("a machine whose clock is a minute early → that it is this one", async () => {
    const { now } = Date;
    Date.now = () => now() + 60_000;
    try {
      assertOnly(await deployment.complaints(), {
        check: "clocks",
        message: /^The clock of this machine is (?:59|6[01]) s ahead of that of the project\.$/,
        remedy: /^Set it by NTP\. timedatectl /,
      });
    } finally {
      Date.now = now;
    }
  });

  await test.step("functions behind a gateway that wants JWTs → verify_jwt, for both", async () => {
    const complaints = await deployment.complaintsThrough(({ path, headers }) =>
      path.startsWith("/functions/v1/") && !headers.has("authorization")
        ? Response.json({ code: 401, message: "Missing authorization header" }, { status: 401 })
        : undefined
    );
    assert.deepEqual(complaints.map(({ check }) => check), ["agent-artifacts", "agent-mesh"]);
    for (const complaint of complaints) {
      const { message } = complaint;
      assert.match(
        message,
        /lets no agent key through .*: the function was deployed with verify_jwt/,
      );
      assert.match(remedyIn(complaint), DEPLOY);
    }
  });

  await test.step("a function that is not deployed → deploy it", async () => {
    assertOnly(
      await deployment.complaintsThrough(({ path }) =>
        path.startsWith("/functions/v1/agent-mesh/")
          ? Response.json({ code: "NOT_FOUND", message: "Requested function was not found" }, {
            status: 404,
          })
          : undefined
      ),
      {
        check: "agent-mesh",
        message: /^The function does not answer: HTTP 404, Requested function was not found\.$/,
        remedy: DEPLOY,
      },
    );
  });

  await test.step("a key that is not the project's → the key; nothing else is said of the database", async () => {
    const SUPABASE_SECRET_KEY = "sb_secret_of_nobody";
    const complaints = await deployment.complaints({ SUPABASE_SECRET_KEY });
    assertOnly(complaints, {
      check: "secret key",
      message: /^The project does not take SUPABASE_SECRET_KEY \(HTTP 401, /,
      remedy: /^Set it to the secret key of the project at http/,
    });
    assert.ok(!complaints[0]!.message.includes(SUPABASE_SECRET_KEY));
  });

  await test.step("a key that is not the project's, and a function that is not deployed → both", async () => {
    const complaints = await deployment.complaintsThrough(
      ({ path }) =>
        path.startsWith("/functions/v1/agent-mesh/")
          ? Response.json({ code: "NOT_FOUND", message: "Requested function was not found" }, {
            status: 404,
          })
          : undefined,
      { SUPABASE_SECRET_KEY: "sb_secret_of_nobody" },
    );
    assert.deepEqual(complaints.map(({ check }) => check), ["secret key", "agent-mesh"]);
  });

  await test.step("the legacy service_role key in place of the secret key → that it is refused, by both", async () => {
    const { serviceRoleKey } = deployment.stack;
    const complaints = await deployment.complaints({ SUPABASE_SECRET_KEY: serviceRoleKey });
    for (const name of ["agent-artifacts", "agent-mesh"]) {
      const { message, remedy } = complaints.find(({ check }) => check === name)!;
      assert.match(message, /^SUPABASE_SECRET_KEY is the legacy service_role key, which /);
      assert.match(remedy!, /^Enter a secret key, sb_secret_…: /);
    }
    assert.ok(!JSON.stringify(complaints).includes(serviceRoleKey));
  });

  await test.step("nobody listens → that nobody answers", async () => {
    const complaints = await deployment.complaints({
      SUPABASE_URL: `http://127.0.0.1:${await freePort()}`,
    });
    assert.deepEqual(complaints.map(({ check }) => check), [
      "database",
      "agent-artifacts",
      "agent-mesh",
      "bucket",
    ]);
    for (const { message } of complaints) assert.match(message, /nobody answered \(/);
  });
});
