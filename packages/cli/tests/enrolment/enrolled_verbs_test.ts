/** `agentfiles login` with a proof of origin instead of a key. */
import assert from "node:assert/strict";
import { mkdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import {
  endMadeEnrolments,
  newName,
  put,
} from "../../../../tests/conformance/enrolment/enrolments.ts";
import { expireKeys, generationOf, trust } from "./cast.ts";
import { LOGIN, login, makeDue, newDesk, readLogin, STRANGER, whoami } from "./logins.ts";

Deno.test.afterEach(endMadeEnrolments);

Deno.test("login --enrolment-key-file → the agent's key is stored, not the enrolment key; when it is due, six commands at once enrol once", async () => {
  await using desk = await newDesk();
  const { enrolment_key } = await put({ uses_left: null });
  await writeFile(desk.path("enrolment.key"), `${enrolment_key}\n`);
  const name = newName("vm");
  const { code, output, errors } = await login(desk, [
    "--enrolment-key-file",
    "enrolment.key",
    "--agent",
    name,
  ]);
  assert.deepEqual([code, output], [0, `Logged in at ${SUPABASE_URL} as ${name}.\n`], errors);
  assert.equal((await stat(desk.path(LOGIN))).mode & 0o777, 0o600);
  assert.ok(!(await readFile(desk.path(LOGIN), "utf8")).includes(enrolment_key));
  assert.equal(await whoami(desk), name);
  assert.equal(await generationOf(name), 1);

  const { key } = await readLogin(desk);
  await makeDue(desk);
  const answers = await Promise.all(Array.from({ length: 6 }, () => whoami(desk)));
  assert.deepEqual(new Set(answers), new Set([name]));
  assert.equal(await generationOf(name), 2);
  assert.notEqual((await readLogin(desk)).key, key);
});

Deno.test("login --token-file, and the agent key ends → the file is read again; a token that was used → exit 3, and the login stays", async () => {
  await using desk = await newDesk();
  const { enrolment, token } = await trust();
  const sub = newName("run");
  await writeFile(desk.path("token"), await token({ sub }));
  const options = ["--token-file", "token", "--enrolment", enrolment.enrolment_id];
  assert.equal((await login(desk, options)).code, 0);
  await expireKeys(sub);
  const stored = await readFile(desk.path(LOGIN), "utf8");
  assert.match(await whoami(desk), /^exit 3: .*token/s);
  assert.equal(await readFile(desk.path(LOGIN), "utf8"), stored);
  await writeFile(desk.path("token"), await token({ sub }));
  assert.equal(await whoami(desk), sub);
  assert.equal(await generationOf(sub), 2);
});

Deno.test("a key that is due, and no other is given → the old one until its end, and no lock is left", async () => {
  await using desk = await newDesk();
  const { enrolment_key } = await put();
  await writeFile(desk.path("enrolment.key"), enrolment_key);
  const name = newName("vm");
  await login(desk, ["--enrolment-key-file", "enrolment.key", "--agent", name]);
  await makeDue(desk);
  assert.equal(await whoami(desk), name);
  await assert.rejects(stat(desk.path(`${LOGIN}.locked`)), { code: "ENOENT" });
});

Deno.test("a lock that a process left behind when it was killed → taken over once it is old", async () => {
  await using desk = await newDesk();
  const { enrolment_key } = await put({ uses_left: null });
  await writeFile(desk.path("enrolment.key"), enrolment_key);
  const name = newName("vm");
  await login(desk, ["--enrolment-key-file", "enrolment.key", "--agent", name]);
  await makeDue(desk);
  const [lock, long] = [desk.path(`${LOGIN}.locked`), new Date(Date.now() - 60_000)];
  await mkdir(lock);
  await writeFile(join(lock, "killed"), "");
  await utimes(join(lock, "killed"), long, long);
  assert.equal(await whoami(desk), name);
  assert.equal(await generationOf(name), 2);
});

Deno.test("a second machine enrols as the same agent → the first is told so at each command, due or not, and never enrols again", async () => {
  await using first = await newDesk();
  await using second = await newDesk();
  const { enrolment_key } = await put({ uses_left: null });
  const name = newName("vm");
  for (const desk of [first, second]) {
    await writeFile(desk.path("enrolment.key"), enrolment_key);
    await login(desk, ["--enrolment-key-file", "enrolment.key", "--agent", name]);
  }
  assert.match(await whoami(first), /^exit 3: /);
  await makeDue(first);
  assert.match(await whoami(first), /^exit 3: /);
  assert.equal(await whoami(second), name);
  assert.equal(await generationOf(name), 2);
  await login(first, ["--enrolment-key-file", "enrolment.key", "--agent", name]);
  assert.equal(await whoami(first), name);
});

Deno.test("login --instance on two machines → both go on after either renews; beyond what the enrolment allows → refused, and nothing is stored", async () => {
  await using ends = new AsyncDisposableStack();
  const { enrolment_key } = await put({ uses_left: null, max_instances: 2 });
  const name = newName("vm");
  const logIn = async (instance: string) => {
    const desk = ends.use(await newDesk());
    await writeFile(desk.path("enrolment.key"), enrolment_key);
    const proof = ["--enrolment-key-file", "enrolment.key", "--agent", name];
    return { desk, ...await login(desk, [...proof, "--instance", instance]) };
  };
  const [blue, green] = [await logIn("blue"), await logIn("green")];
  assert.deepEqual([blue.code, green.code], [0, 0], blue.errors + green.errors);
  for (const { desk } of [blue, green, blue]) {
    const { key } = await readLogin(desk);
    await makeDue(desk);
    assert.equal(await whoami(desk), name);
    assert.notEqual((await readLogin(desk)).key, key);
    for (const other of [blue, green]) assert.equal(await whoami(other.desk), name);
  }
  const red = await logIn("red");
  assert.equal(red.code, 5, red.errors);
  await assert.rejects(stat(red.desk.path(LOGIN)), { code: "ENOENT" });
  for (const { desk } of [blue, green]) assert.equal(await whoami(desk), name);
});

/** A server in GitHub's role: it issues a token for the job's credential. */
function github(token: (audience: string) => Promise<string>) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const { searchParams } = new URL(request.url);
    if (request.headers.get("authorization") !== "Bearer job-credential") {
      return new Response("no", { status: 401 });
    }
    assert.equal(searchParams.get("api-version"), "2.0");
    return Response.json({ value: await token(searchParams.get("audience")!) });
  });
  return {
    environment: {
      ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${server.addr.port}/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: "job-credential",
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

Deno.test("login --github in a job → logged in by the job's token, for the audience that was named, else for the URL", async () => {
  await using desk = await newDesk();
  const { token } = await trust();
  const sub = newName("run");
  const audiences: string[] = [];
  await using job = github((audience) => {
    audiences.push(audience);
    return token({ sub });
  });
  const options = ["--github", "--audience", "https://agents.example.com"];
  const { code, errors } = await login(desk, options, job.environment);
  assert.equal(code, 0, errors);
  assert.equal(await whoami(desk), sub);
  await login(desk, ["--github"], job.environment);
  assert.deepEqual(audiences, ["https://agents.example.com", SUPABASE_URL]);
});

Deno.test("login --github outside a job, or where GitHub refuses → exit 1, what to do, no credential shown, and nothing is stored", async () => {
  await using desk = await newDesk();
  await using job = github(() => Promise.resolve("never"));
  const refused = { ...job.environment, ACTIONS_ID_TOKEN_REQUEST_TOKEN: "other-credential" };
  for (
    const [environment, said] of [
      [{}, /id-token: write/],
      [refused, /GitHub Actions answered 401/],
      [{ ...refused, ACTIONS_ID_TOKEN_REQUEST_URL: "http://127.0.0.1:1" }, /could not be asked/],
    ] as const
  ) {
    const { code, output, errors } = await login(desk, ["--github"], environment);
    assert.deepEqual([code, output], [1, ""]);
    assert.match(errors, said);
    assert.doesNotMatch(errors, /other-credential/);
    await assert.rejects(stat(desk.path(LOGIN)), { code: "ENOENT" });
  }
});

Deno.test("login with two proofs, a file that is not there, an option of another proof, a wrong enrolment key → refused, and the earlier login stays", async () => {
  await using desk = await newDesk();
  const before = { ...STRANGER };
  await desk.run(["login", "--url", SUPABASE_URL], before, `${desk.agent.key}\n`);
  const stored = await readFile(desk.path(LOGIN), "utf8");
  await writeFile(desk.path("empty"), " \n");
  await writeFile(desk.path("wrong"), `ek_${"a".repeat(64)}`);
  for (
    const [args, exit, said] of [
      [["--token-file", "t", "--github"], 2, /one of/],
      [["--audience", "a", "--token-file", "t"], 2, /--audience needs --github/],
      [["--enrolment", "enr_1"], 2, /--enrolment needs/],
      [["--enrolment", "enr_1", "--enrolment-key-file", "wrong"], 2, /--enrolment needs/],
      [["--instance", "blue"], 2, /--instance needs/],
      [["--token-file", "missing"], 1, /missing cannot be read: ENOENT/],
      [["--token-file", "empty"], 1, /empty is empty/],
      [["--enrolment-key-file", "wrong", "--agent", "vm"], 3, /./],
    ] as const
  ) {
    const { code, errors } = await login(desk, args);
    assert.equal(code, exit, `${args}: ${errors}`);
    assert.match(errors, said);
    assert.equal(await readFile(desk.path(LOGIN), "utf8"), stored);
  }
});

Deno.test("logout --leave → the agent has left, and no login is stored", async () => {
  await using desk = await newDesk();
  const { enrolment_key } = await put();
  await writeFile(desk.path("enrolment.key"), enrolment_key);
  const name = newName("vm");
  await login(desk, ["--enrolment-key-file", "enrolment.key", "--agent", name]);
  const { key } = await readLogin(desk);
  const { code, output } = await desk.run(["logout", "--leave", "--json"], STRANGER);
  assert.deepEqual([code, JSON.parse(output)], [0, { removed: true, left: true }]);
  const after = await desk.run(["whoami"], {
    ...STRANGER,
    AGENT_URL: SUPABASE_URL,
    AGENT_KEY: key,
  });
  assert.equal(after.code, 3);
  assert.match(await whoami(desk), /Not logged in/);
});
