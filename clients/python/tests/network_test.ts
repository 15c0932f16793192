import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { SUPABASE_URL } from "../../../tests/conformance/client.ts";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { ForwardProxy } from "./forward_proxy.ts";
import { python, twoAgents } from "./run.ts";

const MEBIBYTE = 1024 ** 2;

/** Puts and gets three files of 40 MiB, only through the proxy. Reports how much memory grew. */
const TRANSFER = `
import hashlib, resource, socket
connect = socket.create_connection
elsewhere = []
def guarded(address, *args, **options):
    if address[1] != int(os.environ["PROXY_PORT"]):
        elsewhere.append(address)
        raise OSError("direct traffic is refused")
    return connect(address, *args, **options)
socket.create_connection = guarded
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
same = True
for number in range(3):
    with open("big", "wb") as file:
        for index in range(40):
            file.write(bytes([index + number]) * 1024 ** 2)
    put = planner.put("big", path="big", to=[builder_id])
    builder.get(put["artifact_id"], "received")
    digests = set()
    for name in ["big", "received"]:
        digest = hashlib.sha256()
        with open(name, "rb") as file:
            for chunk in iter(lambda: file.read(1024 ** 2), b""):
                digest.update(chunk)
        digests.add(digest.hexdigest())
    same = same and len(digests) == 1
grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
print(json.dumps({"same": same, "grown": grown * 1024, "elsewhere": elsewhere}))
`;

Deno.test("Python: 120 MiB by HTTP_PROXY, direct traffic refused → put and got, through the proxy, and not kept in memory", async () => {
  await using proxy = await ForwardProxy.start({ credential: "agent:pass word" });
  const answer = await python(TRANSFER, await twoAgents(), {
    HTTP_PROXY: "",
    http_proxy: `http://agent:pass%20word@127.0.0.1:${proxy.port}`,
    NO_PROXY: "example.com",
    PROXY_PORT: String(proxy.port),
  });
  assert.equal(answer.same, true);
  assert.deepEqual(answer.elsewhere, []);
  assert.ok(answer.grown < 20 * MEBIBYTE, `${answer.grown} bytes`);
  assert.ok(proxy.bytes > 240 * MEBIBYTE, String(proxy.bytes));
  assert.equal(proxy.refused, 0);
  assert.ok(proxy.asked.some((asked) => asked.startsWith("PUT ")), proxy.asked.join());
});

Deno.test("Python: https by HTTPS_PROXY and SSL_CERT_FILE, to a name that only the proxy knows → put and got; without the certificate → refused at once", () =>
  withFolder(async (folder) => {
    const certificate = await makeCertificate(folder);
    const front = await startFront(certificate);
    try {
      const port = (front.address() as AddressInfo).port;
      await using proxy = await ForwardProxy.start({ hosts: { "files.test": port } });
      const environment = {
        HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
        NO_PROXY: "",
        PROXY_PORT: String(proxy.port),
      };
      const script = `
def by_tls(files):
    name, key = os.environ["PLANNER" if files is planner else "BUILDER"].split()
    files = AgentFiles("https://files.test", key, agent_id=name)
    connection = files._connection
    call = connection.call
    def secure(answer):
        return {name: value.replace(os.environ["URL"], "https://files.test")
                if name in ("url", "upload_url") else value for name, value in answer.items()}
    connection.call = lambda *args, **options: secure(call(*args, **options))
    return files
`;
      const agents = await twoAgents();
      const transfer = `${script}
planner, builder = by_tls(planner), by_tls(builder)
${TRANSFER}`;
      const { cert } = certificate;
      const trusted = { ...environment, SSL_CERT_FILE: cert };
      const answer = await python(transfer, agents, trusted);
      assert.equal(answer.same, true);
      assert.deepEqual(answer.elsewhere, []);
      assert.ok(answer.grown < 20 * MEBIBYTE, `${answer.grown} bytes`);
      assert.ok(proxy.bytes > 240 * MEBIBYTE, String(proxy.bytes));
      assert.deepEqual([...new Set(proxy.asked)], ["CONNECT files.test:443"]);
      const said = await python(
        `${script}
try:
    by_tls(planner).whoami()
except AgentError as error:
    print(json.dumps([error.code, error.retryable, str(error)]))
`,
        agents,
        environment,
      );
      assert.deepEqual(said.slice(0, 2), ["network_error", false]);
      assert.match(
        said[2],
        /^https:\/\/files\.test did not answer through the proxy 127\.0\.0\.1:/,
      );
      assert.match(said[2], /certificate verify failed/);
    } finally {
      front.closeAllConnections();
      await new Promise((resolve) => front.close(resolve));
    }
  }));

Deno.test("Python: NO_PROXY names the host → not through the proxy, which nobody listens at", async () => {
  const answer = await python(
    `print(json.dumps([planner.put("plan", b"1")["key"]]))`,
    await twoAgents(),
    { HTTP_PROXY: "http://127.0.0.1:1", NO_PROXY: "127.0.0.1,localhost" },
  );
  assert.deepEqual(answer, ["plan"]);
});

Deno.test("Python: a host that does not exist, a proxy that refuses, malformed URLs → one attempt, and an error that names URL and cause", async () => {
  await using proxy = await ForwardProxy.start({ credential: "a:b" });
  const answer = await python(
    `
from agent_files._sync import connection
# A second attempt would wait here.
def never(_seconds):
    raise AssertionError("it is repeated")
connection.sleep = never
said = []
for url in ["http://nowhere.invalid", "http://nowhere.invalid:8000/x?secret"]:
    try:
        AgentFiles(url, "ak_x").whoami()
    except AgentError as error:
        said.append([error.code, error.retryable, str(error)])
os.environ["HTTPS_PROXY"] = "http://127.0.0.1:${proxy.port}"
os.environ["NO_PROXY"] = ""
try:
    AgentFiles("https://files.test", "ak_x").whoami()
except AgentError as error:
    said.append([error.code, error.retryable, str(error)])
for url in ["", "files.test", "ftp://files.test", "https://", "https://a..b", "https://a:99999",
            "https://a:b", "https://a b", "https://[::1", "https://user:secret@a..b"]:
    try:
        AgentFiles(url, "ak_x")
        said.append(url)
    except ValueError as error:
        said.append(["ValueError", (url.partition("@")[2] or url) in str(error),
                     "secret" in str(error)])
print(json.dumps(said))
`,
    await twoAgents(),
  );
  const [missing, withPort, refused, ...malformed] = answer;
  assert.deepEqual(missing.slice(0, 2), ["network_error", false]);
  assert.match(missing[2], /^http:\/\/nowhere\.invalid did not answer: .*not known/);
  assert.match(withPort[2], /^http:\/\/nowhere\.invalid:8000 did not answer/);
  assert.deepEqual(refused.slice(0, 2), ["network_error", false]);
  assert.match(refused[2], /through the proxy 127\.0\.0\.1:[0-9]+: Tunnel connection failed: 407/);
  assert.equal(malformed.length, 10);
  for (const error of malformed) assert.deepEqual(error, ["ValueError", true, false]);
});

async function makeCertificate(folder: string): Promise<{ key: string; cert: string }> {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const { code, errors } = await runProgram("openssl", {
    args: [
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "2",
      "-subj",
      "/CN=files.test",
      "-addext",
      "subjectAltName=DNS:files.test",
      "-keyout",
      key,
      "-out",
      cert,
    ],
  });
  assert.equal(code, 0, errors);
  return { key, cert };
}

/** A TLS server in front of the stack. */
async function startFront({ key, cert }: { key: string; cert: string }): Promise<Server> {
  const server = createServer(
    { key: readFileSync(key), cert: readFileSync(cert) },
    (asked, answer) => {
      const passed = request(new URL(asked.url!, SUPABASE_URL), {
        method: asked.method!,
        headers: { ...asked.headers, host: new URL(SUPABASE_URL).host },
      }, (response) => {
        answer.writeHead(response.statusCode!, response.headers);
        response.pipe(answer);
      });
      passed.on("error", () => answer.destroy());
      asked.pipe(passed);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
