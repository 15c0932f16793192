/** The packed command where a proxy is the only way out. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { freePort } from "../../../packages/local/processes/free_port.ts";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { THROW_AWAY } from "../../../packages/local/stack/options.ts";
import { type Stack, startStack } from "../../../packages/local/stack/stack.ts";
import { makeCertificate } from "../../../packages/agent-files/tests/http/certificate.ts";
import { documentedBlock } from "../../docs/blocks/documentation.ts";
import { MEBIBYTE } from "../../own_function/commits/memory.ts";
import { writeLargeFile } from "../large_file.ts";
import { type ForwardProxy, startForwardProxy } from "./forward_proxy.ts";
import { startSocksProxy } from "./socks_proxy.ts";
import { inProject, NODES, runtimeIn } from "./tools.ts";
import { tryUnreachable } from "./unreachable.ts";

/** A name that only the proxy can resolve, so no request can go there directly. */
const NAME = "files.agents.invalid";
const LARGE = 100 * MEBIBYTE;
const SMALL = 8 * MEBIBYTE;
const PASSWORD = "correct-horse";

interface Place {
  readonly folder: string;
  readonly proxy: ForwardProxy;
  readonly stack: Stack;
  /** An https:// URL. */
  readonly url: string;
  readonly key: string;
  readonly certificateFile: string;
}

async function inPlace(test: (place: Place) => Promise<void>): Promise<void> {
  await inProject(["bun", "node22", "node24", "proxy-chain"], async (folder) => {
    await Deno.chmod(folder, 0o711);
    const tlsPort = await freePort();
    const url = `https://${NAME}:${tlsPort}`;
    const stack = await startLargeStack(join(folder, "state"), url);
    try {
      const certificate = await makeCertificate(NAME);
      const certificateFile = join(folder, "certificate.pem");
      await writeFile(certificateFile, certificate.authority);
      const target = Number(new URL(stack.url).port);
      await using proxy = await startForwardProxy({
        folder,
        name: NAME,
        tlsPort,
        target,
        password: PASSWORD,
        ...certificate,
      });
      const key = await createKey(stack);
      await test({ folder, proxy, stack, url, key, certificateFile });
    } finally {
      await stack.stop();
    }
  });
}

/** A stack of its own. Its upload and download URLs begin with `publicUrl`. */
async function startLargeStack(stateDir: string, publicUrl: string): Promise<Stack> {
  await mkdir(stateDir, { mode: 0o711 });
  return await startStack({
    ...THROW_AWAY,
    stateDir,
    storageSizeLimit: LARGE,
    functionVariables: {
      ARTIFACTS_MAX_SIZE_BYTES: String(LARGE),
      PUBLIC_SUPABASE_URL: publicUrl,
    },
  });
}

async function createKey(stack: Stack): Promise<string> {
  const answer = await fetch(`${stack.url}/rest/v1/rpc/agent_api_create_agent_key`, {
    method: "POST",
    headers: { apikey: stack.secretKey, "content-type": "application/json" },
    body: JSON.stringify({ agent_id: "planner" }),
  });
  return (await answer.json()).key;
}

/** Runs the packed command with a runtime. `variables` are the only proxy settings. */
function runAgent(
  { folder, url, key }: Place,
  [program, ...before]: readonly string[],
  args: readonly string[],
  variables: Record<string, string>,
) {
  const main = join(folder, "node_modules/agent-files/dist/cli/main.js");
  const none = ["http_proxy", "https_proxy", "no_proxy", "all_proxy"]
    .flatMap((name) => [name, name.toUpperCase()]);
  return runProgram(program!, {
    args: [...before, main, ...args],
    cwd: folder,
    env: {
      ...Object.fromEntries(none.map((name) => [name, ""])),
      SSL_CERT_FILE: "",
      NODE_EXTRA_CA_CERTS: "",
      AGENT_URL: url,
      AGENT_KEY: key,
      ...variables,
    },
  });
}

async function sha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk);
  return hash.digest("hex");
}

/**
 * Puts and gets a file. Asserts that the bytes are the same and that all of them went through the
 * proxy.
 */
async function assertPasses(
  place: Place,
  runtime: readonly string[],
  variables: Record<string, string>,
  size: number,
): Promise<void> {
  const { folder, proxy } = place;
  const [file, again] = [join(folder, "file"), join(folder, "again")];
  await writeLargeFile(file, size);
  const before = proxy.seen.length;
  for (const args of [["put", file], ["get", "file", "-o", again, "--force"]]) {
    const { code, errors } = await runAgent(place, runtime, args, variables);
    assert.equal(code, 0, errors);
  }
  assert.equal(await sha256(again), await sha256(file));
  // The proxy reports the end of the last connection only after the command has ended.
  const passed = () => proxy.seen.slice(before);
  const bytes = (direction: "sent" | "received") =>
    passed().reduce((sum, seen) => sum + (seen.type === "closed" ? seen[direction] : 0), 0);
  while (bytes("sent") < size || bytes("received") < size) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const opened = passed().filter((seen) => seen.type !== "closed");
  assert.ok(opened.length > 0);
  for (const seen of opened) assert.deepEqual([seen.type, seen.hostname], ["CONNECT", NAME]);
}

Deno.test("the packed command where only a proxy reaches the service → put and get pass it, on every Node, Deno and Bun", async (test) => {
  await inPlace(async (place) => {
    const { folder, proxy, certificateFile, stack } = place;
    const trusted = { SSL_CERT_FILE: certificateFile };

    await test.step(
      "a name that does not exist, an untrusted certificate, a closed port → what it says",
      (step) => tryUnreachable(step, folder),
    );

    await test.step("without the proxy → the name does not exist, at once", async () => {
      for (const variables of [trusted, { ...trusted, HTTPS_PROXY: proxy.url, NO_PROXY: NAME }]) {
        const { code, errors } = await runAgent(place, ["node"], ["ls"], variables);
        assert.equal(code, 6, errors);
        assert.match(errors, /cannot be reached: the name files\.agents\.invalid does not exist/);
      }
      assert.deepEqual(proxy.seen, []);
    });

    await test.step("a certificate that is not trusted → refused at once", async () => {
      const { code, errors } = await runAgent(place, ["node"], ["ls"], { HTTPS_PROXY: proxy.url });
      assert.equal(code, 6, errors);
      assert.match(errors, /its certificate is not trusted/);
    });

    await test.step("a proxy that refuses the password → refused at once, without the password", async () => {
      const wrong = proxy.url.replace(PASSWORD, "wrong-pony");
      const variables = { ...trusted, HTTPS_PROXY: wrong };
      const { code, errors } = await runAgent(place, ["node"], ["ls"], variables);
      assert.equal(code, 6, errors);
      assert.match(errors, /the proxy refused with HTTP 407/);
      assert.doesNotMatch(errors, /pony/);
    });

    await test.step("HTTPS_PROXY that is no URL → exit code 2, without its text", async () => {
      const variables = { HTTPS_PROXY: "ftp://agent:pony@proxy" };
      const { code, errors } = await runAgent(place, ["node"], ["ls"], variables);
      assert.equal(code, 2, errors);
      assert.match(errors, /HTTPS_PROXY is not the URL of a proxy/);
      assert.doesNotMatch(errors, /pony/);
    });

    for (const name of NODES) {
      const node = [runtimeIn(folder, name)];
      const size = name === "node" ? LARGE : SMALL;
      await test.step(`${name}, HTTPS_PROXY and SSL_CERT_FILE, ${size / MEBIBYTE} MiB`, () =>
        assertPasses(place, node, { ...trusted, HTTPS_PROXY: proxy.url }, size));
      await test.step(`${name}, https_proxy and NODE_EXTRA_CA_CERTS`, () => {
        const variables = { NODE_EXTRA_CA_CERTS: certificateFile, https_proxy: proxy.url };
        return assertPasses(place, node, variables, SMALL);
      });
    }

    await test.step("Bun by itself", () => {
      const bun = [runtimeIn(folder, "bun")];
      const variables = { NODE_EXTRA_CA_CERTS: certificateFile, HTTPS_PROXY: proxy.url };
      return assertPasses(place, bun, variables, SMALL);
    });

    await test.step("Deno by itself", () => {
      const deno = [Deno.execPath(), "run", "--allow-all"];
      const variables = {
        DENO_CERT: certificateFile,
        DENO_NO_UPDATE_CHECK: "1",
        HTTPS_PROXY: proxy.url,
      };
      return assertPasses(place, deno, variables, SMALL);
    });

    await test.step("HTTP_PROXY without a scheme, http:// → forwarded, not tunnelled", async () => {
      const before = proxy.seen.length;
      const url = `http://${NAME}:${new URL(stack.url).port}`;
      const variables = { HTTP_PROXY: proxy.url.replace("http://", ""), AGENT_URL: url };
      const { code, errors } = await runAgent(place, ["node"], ["whoami"], variables);
      assert.equal(code, 0, errors);
      const [seen] = proxy.seen.slice(before);
      assert.deepEqual(seen, { type: "forward", hostname: NAME, user: "agent" });
    });

    await test.step("an http:// service behind HTTP_PROXY alone → put and get: its requests forwarded, those to https:// URLs tunnelled", async () => {
      const before = proxy.seen.length;
      const AGENT_URL = `http://${NAME}:${new URL(stack.url).port}`;
      const variables = { HTTP_PROXY: proxy.url, AGENT_URL, SSL_CERT_FILE: certificateFile };
      const [file, again] = [join(folder, "file"), join(folder, "again")];
      await writeLargeFile(file, SMALL);
      // The service's answers contain its public https:// URL. Requests to it use the same proxy.
      for (const args of [["put", file], ["get", "file", "-o", again, "--force"]]) {
        const { code, errors } = await runAgent(place, ["node"], args, variables);
        assert.equal(code, 0, errors);
      }
      assert.equal(await sha256(again), await sha256(file));
      const types = new Set(proxy.seen.slice(before).map(({ type }) => type));
      assert.ok(types.has("forward") && types.has("CONNECT"));
    });

    await test.step("HTTPS_PROXY of SOCKS5 with a password → put and get pass it, by name; a wrong one → refused", async () => {
      const user = { user: "agent", password: PASSWORD };
      await using socks = startSocksProxy({ name: NAME, ...user });
      const file = join(folder, "file");
      const again = join(folder, "again");
      for (const name of NODES) {
        for (const args of [["put", file], ["get", "file", "-o", again, "--force"]]) {
          const HTTPS_PROXY = `socks5://agent:${PASSWORD}@${socks.host}`;
          const variables = { ...trusted, HTTPS_PROXY };
          const node = [runtimeIn(folder, name)];
          const { code, errors } = await runAgent(place, node, args, variables);
          assert.equal(code, 0, errors);
        }
        assert.equal(await sha256(again), await sha256(file));
      }
      assert.deepEqual([...new Set(socks.connected)], [new URL(place.url).host]);
      const HTTPS_PROXY = `socks5://agent:wrong-pony@${socks.host}`;
      const refused = ["ls", "--retry-seconds", "0"];
      const variables = { ...trusted, HTTPS_PROXY };
      const { code, errors } = await runAgent(place, ["node"], refused, variables);
      assert.equal(code, 6, errors);
      assert.match(errors, /did not answer: .*[Aa]uthentication/);
      assert.doesNotMatch(errors, /pony/);
    });

    await test.step("packages/agent-files/README.md, Proxies → the library by `agent-files/proxy`", async () => {
      const block = await documentedBlock("packages/agent-files/README.md, Proxies, 1");
      const program = block.replace("https://<ref>.supabase.co", place.url)
        .replace("ak_…", place.key);
      await writeFile(
        join(folder, "readme.js"),
        `${program}\nconsole.log((await files.whoami()).agent_id);`,
      );
      const before = proxy.seen.length;
      const { code, output, errors } = await runProgram("node", {
        args: ["readme.js"],
        cwd: folder,
        env: { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: certificateFile },
      });
      assert.deepEqual([code, output], [0, "planner\n"], errors);
      assert.equal(proxy.seen[before]?.type, "CONNECT");
    });

    await test.step("no proxy → what goes through one is not loaded", async () => {
      const chunks = join(folder, "node_modules/agent-files/dist/cli/chunks");
      const lazy = (await readdir(chunks))
        .filter((file) => /^(?:proxy_agents|fetch_by_agent)-/.test(file));
      assert.equal(lazy.length, 2);
      for (const file of lazy) await rm(join(chunks, file));
      const { code, errors } = await runAgent(place, ["node"], ["whoami"], {
        AGENT_URL: stack.url,
      });
      assert.equal(code, 0, errors);
    });
  });
});
