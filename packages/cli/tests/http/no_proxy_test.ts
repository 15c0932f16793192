/** NO_PROXY means the same to every client as to curl: no key reaches a proxy that is excluded. */
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import * as esbuild from "esbuild";
import { PROJECT } from "../../../local/project.ts";
import { runProgram } from "../../../local/processes/run_program.ts";
import { isExcepted } from "../../../agent-files/proxy/no_proxy.ts";
import { proxyForRelays } from "../../../agent-peer/paths/relays/proxy.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";
import { filesOfHouses } from "../../../../tests/unit/rooms.ts";
import { Desk } from "../desk.ts";
import { interpreter, PYTHON_ENVIRONMENT } from "../../../../clients/python/tests/interpreter.ts";
import { ForwardProxy } from "../../../../clients/python/tests/forward_proxy.ts";
import { type Form, FORMS } from "../../../agent-files/tests/http/no_proxy_forms.ts";

const NO_PROXY = join(PROJECT, "packages/agent-files/proxy/no_proxy.ts");
const NAMES = ["http_proxy", "https_proxy", "no_proxy", "all_proxy"];
const WITHOUT_PROXY = Object.fromEntries(
  NAMES.flatMap((name) => [[name, ""], [name.toUpperCase(), ""]]),
);

/** Together they call the database, the functions and Storage in every way that a task does. */
const TASKS = [
  "agent list",
  "enrolment list",
  "mesh",
  "fsck",
  "doctor",
].map((words) => `agentops ${words}`);

/** Asserts what a client does with each form: whether it connects directly. */
function assertForms(found: readonly boolean[], forms: readonly Form[]): void {
  assert.deepEqual(
    forms.filter(({ isDirect }, index) => found[index] !== isDirect),
    [],
    "the client decides these forms in another way",
  );
  assert.equal(found.length, forms.length);
}

Deno.test("NO_PROXY in every form → curl decides as the table says", async () => {
  const known = FORMS.filter(({ isUnknownToCurl }) => !isUnknownToCurl);
  using closed = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const found: boolean[] = [];
  for (const { noProxy, url } of known) {
    await using proxy = await ForwardProxy.start({ credential: "nobody:nothing" });
    // Without a proxy, the request goes to a port at which nothing answers HTTP.
    const direct = ["--connect-to", `::127.0.0.1:${closed.addr.port}`, "--max-time", "0.2"];
    const place = `http://127.0.0.1:${proxy.port}`;
    await runProgram("curl", {
      args: ["--silent", "--globoff", ...direct, url],
      cwd: PROJECT,
      env: { ...WITHOUT_PROXY, http_proxy: place, https_proxy: place, no_proxy: noProxy },
    });
    found.push(proxy.asked.length === 0);
  }
  assertForms(found, known);
});

Deno.test("NO_PROXY in every form → Deno and a relay's connection decide as the table says", () => {
  assertForms(FORMS.map(({ url, noProxy }) => isExcepted(new URL(url), noProxy)), FORMS);
  const before = NAMES.map((name) => [name, process.env[name]] as const);
  const relayed = FORMS.filter(({ url }) => url.startsWith("https:"));
  try {
    process.env["https_proxy"] = "http://127.0.0.1:1";
    assertForms(
      relayed.map(({ url, noProxy }) => {
        process.env["no_proxy"] = noProxy;
        const { hostname, port } = new URL(url);
        return proxyForRelays(undefined)(hostname.replace(/^\[|\]$/g, ""), Number(port) || 443) ===
          null;
      }),
      relayed,
    );
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
});

Deno.test("NO_PROXY in every form → Node decides as the table says", async () => {
  const { outputFiles } = await esbuild.build({
    entryPoints: [NO_PROXY],
    bundle: true,
    format: "esm",
    platform: "node",
    write: false,
  });
  await esbuild.stop();
  const source = `${outputFiles[0]!.text}
    console.log(JSON.stringify(
      ${JSON.stringify(FORMS)}.map(({ url, noProxy }) => isExcepted(new URL(url), noProxy))));`;
  const { output, errors } = await runProgram("node", {
    args: ["--input-type=module", "-e", source],
    cwd: PROJECT,
    env: {},
  });
  assert.notEqual(output, "", errors);
  assertForms(JSON.parse(output), FORMS);
});

Deno.test("NO_PROXY in every form → Python decides as the table says", async () => {
  const source = `
import json, os
from agent_files._http.proxies import proxy_of
from agent_files._http.urls import parsed
direct = []
for form in json.loads(os.environ["FORMS"]):
    os.environ["no_proxy"] = form["noProxy"]
    direct.append(proxy_of(parsed(form["url"])) is None)
print(json.dumps(direct))
`;
  const { output, errors } = await runProgram(await interpreter(), {
    args: ["-c", source],
    cwd: PROJECT,
    env: {
      ...WITHOUT_PROXY,
      ...PYTHON_ENVIRONMENT,
      FORMS: JSON.stringify(FORMS),
      http_proxy: "http://127.0.0.1:1",
      https_proxy: "http://127.0.0.1:1",
    },
  });
  assert.notEqual(output, "", errors);
  assertForms(JSON.parse(output), FORMS);
});

for (const noProxy of ["127.0.0.0/8", "10.0.0.0/8 127.0.0.1", "*"]) {
  Deno.test(`agentfiles put and get on Deno, NO_PROXY=${noProxy} → nothing reaches the proxy`, async () => {
    await using proxy = await ForwardProxy.start();
    await using planner = await Desk.of("planner");
    const place = `http://127.0.0.1:${proxy.port}`;
    const variables = {
      ...WITHOUT_PROXY,
      HTTP_PROXY: place,
      HTTPS_PROXY: place,
      // Deno's own look for a newer version would pass the proxy.
      DENO_NO_UPDATE_CHECK: "1",
    };
    await Deno.writeTextFile(planner.path("plan"), "first");
    for (const args of [["put", "plan"], ["get", "plan", "-o", "again"]]) {
      const { code, errors } = await planner.run(args, { ...variables, NO_PROXY: noProxy });
      assert.equal(code, 0, errors);
    }
    assert.deepEqual(proxy.asked, []);
    const { code, errors } = await planner.run(["get", "plan", "-o", "proxied"], variables);
    assert.equal(code, 0, errors);
    assert.ok(proxy.asked.length > 1, "without NO_PROXY, everything passes the proxy");
    assert.equal(await Deno.readTextFile(planner.path("proxied")), "first");
  });
}

Deno.test("every request of the operator's tasks → by operatorFetch(), which decides by the same table", async () => {
  const files = (await filesOfHouses())
    .filter((file) => file.startsWith("packages/operator/") && file.endsWith(".ts"));
  const sources = await Promise.all(files.map((file) => Deno.readTextFile(join(PROJECT, file))));
  const sending = sources.filter((source) => /(?<![.\w])fetch\(/.test(source));
  assert.ok(sending.length >= 6, `${sending.length} files`);
  assert.deepEqual(sending.filter((source) => !source.includes("await operatorFetch()")), []);
});

for (const noProxy of ["127.0.0.0/8", "10.0.0.0/8 127.0.0.1", "*"]) {
  Deno.test(`the operator's tasks, NO_PROXY=${noProxy} → the secret key does not reach the proxy`, async () => {
    await using proxy = await ForwardProxy.start();
    await using planner = await Desk.of("planner");
    await Deno.writeTextFile(planner.path("plan"), "first");
    assert.equal((await planner.run(["put", "plan"])).code, 0);
    const place = `http://127.0.0.1:${proxy.port}`;
    const variables = {
      ...WITHOUT_PROXY,
      HTTP_PROXY: place,
      HTTPS_PROXY: place,
      DENO_NO_UPDATE_CHECK: "1",
    };
    for (const program of TASKS) {
      const environment = { ...variables, NO_PROXY: noProxy };
      const { code, output, errors } = await runTask(program, { environment });
      // The doctor also exits with 1 for what it finds in the stack of the tests.
      assert.ok(code === 0 || output.includes("\nNot healthy"), output + errors);
      assert.doesNotMatch(output + errors, /nobody answered|does not answer/);
      assert.deepEqual(proxy.asked, [], program);
    }
    const { code, errors } = await runTask(TASKS[0]!, { environment: variables });
    assert.equal(code, 0, errors);
    assert.ok(proxy.asked.length > 0, "without NO_PROXY, the request passes the proxy");
  });
}

Deno.test("an operator's task, HTTP_PROXY=ftp://x → refused without the value", async () => {
  const { code, output, errors } = await runTask(TASKS[0]!, {
    environment: { ...WITHOUT_PROXY, HTTP_PROXY: "ftp://name:secret@proxy.example" },
  });
  assert.equal(code, 1);
  assert.equal(output, "");
  assert.match(errors, /HTTP_PROXY is not the URL of a proxy\./);
  assert.doesNotMatch(errors, /secret/);
});

for (
  const [password, sent] of [
    ["100%", "100%"],
    ["%zz", "%zz"],
    ["50%25", "50%"],
    ["a%20b%", "a b%"],
    ["caf%C3%A9%", "café%"],
  ] as const
) {
  Deno.test(`agentfiles whoami through a proxy with the password ${password} → accepted at the first attempt`, async () => {
    const bytes = String.fromCharCode(...new TextEncoder().encode(sent));
    await using proxy = await ForwardProxy.start({ credential: `agent:${bytes}` });
    await using planner = await Desk.of("planner");
    const { code, errors } = await planner.run(["whoami", "--retry-seconds", "0"], {
      ...WITHOUT_PROXY,
      HTTP_PROXY: `http://agent:${password}@127.0.0.1:${proxy.port}`,
    });
    assert.equal(code, 0, errors);
    assert.equal(proxy.refused, 0);
    assert.equal(proxy.asked.length, 1);
  });
}
