import assert from "node:assert/strict";
import { chmod, readFile, rm, stat } from "node:fs/promises";
import {
  createAgent,
  operatorRpc,
  SECRET_KEY,
  SUPABASE_URL,
} from "../../../../../tests/conformance/client.ts";
import { Released } from "./released.ts";

const ENVIRONMENT = { SUPABASE_URL, SUPABASE_SECRET_KEY: SECRET_KEY };
const HERE = { environment: ENVIRONMENT };

Deno.test("the released agentops, with only node on the PATH", async (t) => {
  await using released = await Released.build();
  const login = (...args: string[]) =>
    released.run(["login", ...args], { input: `${SECRET_KEY}\n` });
  const isThere = async (agent_id: string) => (await operatorRpc("read_agent", { agent_id })).body;

  await t.step("--version, --help → its name and its verbs", async () => {
    const { output } = await released.run(["--version"]);
    assert.match(output, /^agentops \S+\n$/);
    const help = await released.run(["--help"]);
    assert.deepEqual([help.code, help.errors], [0, ""]);
    assert.match(help.output, /^ {2}doctor +Show what is wrong/m);
  });

  await t.step(
    "agent create, then agent list and agent show → the agent key and the agent",
    async () => {
      const name = `released-${crypto.randomUUID().slice(0, 8)}`;
      try {
        const created = await released.run(["agent", "create", name], HERE);
        assert.equal(created.code, 0, created.errors);
        assert.match(created.output, /^ak_[0-9a-f]{64}\n$/);
        const [, revoke, keyId] = /with: agentops (agent revoke) (key_\w+)$/.exec(created.errors) ??
          [];
        const listed = await released.run(["agent", "list", "--all", "--json"], HERE);
        assert.ok(listed.output.includes(`"agent_id":"${name}"`));
        const shown = await released.run(["agent", "show", name], HERE);
        assert.ok(shown.output.includes(keyId!), shown.errors + shown.output);
        const revoked = await released.run([...revoke!.split(" "), keyId!, "--yes"], HERE);
        assert.deepEqual([revoked.code, JSON.parse(revoked.output).revoked], [0, 1]);
      } finally {
        await operatorRpc("remove_agent", { agent_id: name });
      }
    },
  );

  await t.step("doctor → what the doctor of the clone finds: no fault", async () => {
    const { code, output, errors } = await released.run(["doctor", "--json"], HERE);
    const { healthy, findings } = JSON.parse(output);
    assert.deepEqual([code, healthy, errors], [0, true, ""], output);
    assert.ok(findings.length > 12);
  });

  await t.step("fsck, policy check of a file in the folder, events in a pipe → work", async () => {
    await released.write("policy.jsonc", '{ "rules": [] } // none');
    const checked = await released.run(["policy", "check", "policy.jsonc"]);
    assert.deepEqual([checked.code, checked.output], [0, "0 rules. 0 tests passed.\n"]);
    assert.equal((await released.run(["events", "--limit", "3"], HERE)).code, 0);
    const fsck = await released.run(["fsck", "--json"], HERE);
    assert.equal(fsck.code, 0, fsck.errors + fsck.output);
  });

  await t.step("dashboard → serves its pages and every asset, until it is ended", async () => {
    const child = new Deno.Command("node", {
      args: [released.path("agentops.mjs"), "dashboard"],
      env: { ...released.environment, ...ENVIRONMENT },
      stdin: "null",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
    const url = (await reader.read()).value!.trim();
    const overview = await fetch(`${url}overview/`);
    const page = await overview.text();
    assert.deepEqual([overview.status, page.includes(SUPABASE_URL)], [200, true]);
    for (const asset of ["style.css", "dashboard.js", "mesh.js", "cytoscape.js", "icon.svg"]) {
      const response = await fetch(`${url}assets/${asset}`);
      assert.ok(response.status === 200 && (await response.text()).length > 100, asset);
    }
    child.kill("SIGTERM");
    await child.status;
    await reader.cancel();
  });

  await t.step("without a deployment → one sentence, exit code 1", async () => {
    const { code, errors } = await released.run(["agent", "list"]);
    assert.equal(code, 1);
    assert.match(errors, /^SUPABASE_URL and SUPABASE_SECRET_KEY are not set, .* --project\.$/);
  });

  await t.step(
    "login --project → stored for this user alone, and used without an environment",
    async () => {
      const { code, output, errors } = await login("--project", "staging", "--url", SUPABASE_URL);
      assert.deepEqual([code, output], [0, `staging is ${SUPABASE_URL}.\n`], errors);
      assert.equal((await stat(released.projectFile)).mode & 0o777, 0o600);
      const listed = await released.run(["--project", "staging", "agent", "list", "--limit", "1"]);
      assert.equal(listed.code, 0, listed.errors);
      // It is chosen, so an environment of another deployment is not used.
      const other = { SUPABASE_URL: "http://127.0.0.1:1", SUPABASE_SECRET_KEY: "sb_secret_none" };
      const chosen = await released.run(["agent", "list", "--limit", "1", "--project=staging"], {
        environment: other,
      });
      assert.equal(chosen.code, 0, chosen.errors);
      const projects = await released.run(["projects"]);
      assert.equal(projects.output, `staging\t${SUPABASE_URL}\n`);
    },
  );

  await t.step(
    "what ends something, without --yes and a terminal → names the project, and changes nothing",
    async () => {
      const agent = await createAgent("asked");
      for (const verb of [["agent", "revoke"], ["agent", "remove"], ["agent", "erase"]]) {
        const before = await isThere(agent.id);
        const refused = await released.run(["--project", "staging", ...verb, agent.id]);
        assert.equal(refused.code, 2, refused.errors);
        assert.ok(refused.errors.includes(`at staging (${SUPABASE_URL})`), refused.errors);
        assert.deepEqual(await isThere(agent.id), before);
      }
    },
  );

  await t.step(
    "login with a wrong secret key, without a name or a URL → refused, nothing is stored",
    async () => {
      const before = await readFile(released.projectFile, "utf8");
      const wrong = await released.run(["login", "--project", "other", "--url", SUPABASE_URL], {
        input: "sb_secret_wrong\n",
      });
      assert.equal(wrong.code, 1);
      assert.match(
        wrong.errors,
        /does not accept this secret key \(HTTP 40[13]\)\. Nothing was stored\.$/,
      );
      assert.match((await login("--url", SUPABASE_URL)).errors, /a name with --project\./);
      assert.match((await login("--project", "other")).errors, /address with --url\./);
      assert.match(
        (await login("--project", "x", SECRET_KEY)).errors,
        /Do not pass the secret key/,
      );
      const nobody = await login("--project", "other", "--url", "http://127.0.0.1:1");
      assert.equal(nobody.errors, "http://127.0.0.1:1 does not answer: is the address right?");
      assert.equal(await readFile(released.projectFile, "utf8"), before);
    },
  );

  await t.step("--project of what is not stored → the names that are, exit code 1", async () => {
    const { code, errors } = await released.run(["agent", "list", "--project", "prod"], HERE);
    assert.equal(code, 1);
    assert.match(
      errors,
      /^There is no project prod: the stored ones are staging\. Store it with: /,
    );
  });

  await t.step(
    "a file of projects that others can read, or that is damaged → refused",
    async () => {
      await chmod(released.projectFile, 0o644);
      const open = await released.run(["projects"]);
      assert.deepEqual([open.code, open.output], [1, ""]);
      assert.match(open.errors, /^Other users can read .*projects\.json\. Run: chmod 600 /);
      await chmod(released.projectFile, 0o600);
      const text = await readFile(released.projectFile, "utf8");
      await released.write("home/.config/agentops/projects.json", '{"staging": {"url": 1}}');
      const damaged = await released.run(["agent", "list", "--project", "staging"]);
      assert.match(damaged.errors, /projects\.json is damaged\. Remove it, /);
      await released.write("home/.config/agentops/projects.json", text);
    },
  );

  await t.step("logout → that project is gone; again → refused", async () => {
    const again = await released.run(["logout", "--project", "prod"]);
    assert.deepEqual([again.code, again.errors], [
      1,
      "There is no project prod. Nothing was removed.",
    ]);
    assert.equal((await released.run(["logout", "--project", "staging"])).code, 0);
    assert.equal((await released.run(["projects"])).output, "");
    await rm(released.projectFile);
  });

  await t.step("completion of each shell → its commands, their options and --project", async () => {
    for (const shell of ["bash", "zsh", "fish"]) {
      const { code, output } = await released.run(["completion", shell]);
      assert.equal(code, 0);
      for (const word of ["enrolment", "erase", "undo-grants", "project"]) {
        assert.ok(output.includes(word), `${shell}: ${word}`);
      }
    }
    const { code, errors } = await released.run(["completion", "tcsh"]);
    assert.deepEqual([code, errors.includes("bash, zsh or fish")], [2, true]);
  });
});
