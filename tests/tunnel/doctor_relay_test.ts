import assert from "node:assert/strict";
import { freePort } from "../../packages/local/processes/free_port.ts";
import type { Finding } from "../../packages/operator/doctor/findings/finding.ts";
import { Deployment, remedyIn } from "../../packages/operator/tests/doctor/deployment.ts";
import { SERVICE_TOKEN, startCredentialsService } from "../own_function/relay/relays.ts";
import { documentedBlock } from "../docs/blocks/documentation.ts";
import { runTask } from "../../packages/local/tests/stack/stack_process.ts";
import { makeCertificate } from "./relay/certificate.ts";
import { Coturn } from "./relay/coturn.ts";

const ENTER_SECRET =
  /^Set MESH_TURN_SECRET to the server's static-auth-secret\. read -rsp .* "MESH_TURN_SECRET=\$SECRET.* secrets set --env-file ~\/turn\.env; rm -f ~\/turn\.env$/;

/** The secret with which this coturn was started. */
async function secretOf({ directory }: Coturn): Promise<string> {
  const configuration = await Deno.readTextFile(`${directory}/turnserver.conf`);
  return /^static-auth-secret=(.+)$/m.exec(configuration)![1]!;
}

function relayOf(urls: readonly string[], secret: string) {
  const environment = { MESH_TURN_URLS: urls.join(","), MESH_TURN_SECRET: secret };
  return { name: "agent-mesh", environment } as const;
}

/** Asserts that the only faults are of the relay, one for each of `urls`. */
function assertFaults(complaints: readonly Finding[], urls: readonly string[]): void {
  assert.deepEqual(
    complaints.map(({ check, level, message }) => [check, level, message.split(" ")[0]]),
    urls.map((url) => ["relay", "fault", url]),
  );
}

Deno.test({
  name: "the doctor of a relay → an allocation by each URI, or what is wrong, with its remedy",
  // The trials close some sockets late.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(test) {
    await using deployment = await Deployment.open();
    const directory = deployment.stack.stateDir;
    const { authority, certificate, key } = await makeCertificate(directory, "127.0.0.1");
    const denied = (await documentedBlock("docs/relay.md, Your own server, 3")).trim().split("\n");
    await using coturn = await Coturn.start(
      [`cert=${certificate}`, `pkey=${key}`, "no-tcp-relay", ...denied],
    );
    const secret = await secretOf(coturn);
    const udp = `turn:127.0.0.1:${coturn.port}?transport=udp`;
    const tcp = `turn:127.0.0.1:${coturn.port}?transport=tcp`;
    const tls = `turns:127.0.0.1:${coturn.tlsPort}?transport=tcp`;
    const complaintsOf = (urls: readonly string[], ofSecret = secret) =>
      deployment.complaintsWith(relayOf(urls, ofSecret));

    await test.step("UDP and TCP, and TLS with a certificate that it knows → healthy", async () => {
      await deployment.withFunction(relayOf([udp, tcp, tls], secret), async (url) => {
        const { code, output } = await runTask("agentops doctor", {
          environment: {
            SUPABASE_URL: url,
            SUPABASE_SECRET_KEY: deployment.connection.SUPABASE_SECRET_KEY,
            DENO_CERT: authority,
          },
        });
        assert.equal(code, 0, output);
        assert.ok(output.includes(`The relay gives allocations: ${udp}, ${tcp}, ${tls}.`), output);
        assert.ok(!output.includes(secret));
      });
      assert.deepEqual(await complaintsOf([udp, tcp]), []);
    });

    await test.step("a certificate that nobody knows → a fault; the others stay", async () => {
      const complaints = await complaintsOf([udp, tls]);
      assertFaults(complaints, [tls]);
      assert.match(complaints[0]!.message, /gives no allocation: .*certificate/i);
      assert.ok(remedyIn(complaints[0]!).endsWith(` secrets set MESH_TURN_URLS='${udp}'`));
    });

    await test.step("another secret → a fault for each, and how to enter the right one", async () => {
      const wrong = "another-secret-than-its";
      const complaints = await complaintsOf([udp, tcp], wrong);
      assertFaults(complaints, [udp, tcp]);
      for (const complaint of complaints) {
        assert.match(complaint.message, /gives no allocation: The TURN server answers 401 to a /);
        assert.match(remedyIn(complaint), ENTER_SECRET);
        assert.ok(!JSON.stringify(complaint).includes(wrong));
      }
    });

    await test.step("nothing listens → a fault for each", async () => {
      const free = await freePort();
      const closed = [`turn:127.0.0.1:${free}`, `turn:127.0.0.1:${free}?transport=tcp`];
      const complaints = await complaintsOf(closed);
      assertFaults(complaints, closed);
      assert.match(complaints[0]!.message, /gives no allocation: no answer within 10 s$/);
      assert.match(complaints[1]!.message, /gives no allocation: .*refused/i);
      for (const complaint of complaints) {
        assert.match(remedyIn(complaint), / secrets unset MESH_TURN_URLS MESH_TURN_SECRET$/);
      }
    });

    await test.step("a server that permits the machine itself, the cloud's metadata and TCP → a fault for each URI, that names them", async () => {
      await using open = await Coturn.start();
      const urls = ["udp", "tcp"].map((how) => `turn:127.0.0.1:${open.port}?transport=${how}`);
      const complaints = await complaintsOf(urls, await secretOf(open));
      assertFaults(complaints, urls);
      const permitted = [
        "127.0.0.1, 169.254.169.254",
        "127.0.0.1, 169.254.169.254, TCP connections",
      ];
      for (const [index, { message, remedy }] of complaints.entries()) {
        assert.ok(message.includes(` relays where it must not: ${permitted[index]}. `), message);
        assert.match(
          remedy!,
          /^Put no-tcp-relay and every denied-peer-ip of docs\/relay\.md into /,
        );
      }
      for (
        const [left, options] of [
          ["127.0.0.1", ["no-tcp-relay", ...denied.filter((line) => !line.includes("=127."))]],
          ["169.254.169.254", [
            "no-tcp-relay",
            ...denied.filter((line) => !line.includes("=169.")),
          ]],
          ["TCP connections", denied],
          [
            "::1",
            ["relay-ip=::1", "no-tcp-relay", ...denied.filter((line) => !line.includes("=::1"))],
          ],
        ] as const
      ) {
        await using partly = await Coturn.start(options);
        const url = `turn:127.0.0.1:${partly.port}?transport=tcp`;
        const [only, ...others] = await complaintsOf([url], await secretOf(partly));
        assert.deepEqual(others, []);
        assert.ok(only!.message.includes(` relays where it must not: ${left}. `), only!.message);
      }
    });

    await test.step("no relay → nothing", async () => {
      assert.deepEqual(await deployment.complaints(), []);
    });

    await test.step("a service whose server works → nothing; that has other credentials, or none → a fault", async () => {
      await using service = startCredentialsService();
      const { environment } = service;
      const complaintsNow = () => deployment.complaintsWith({ name: "agent-mesh", environment });
      service.answerWith(() =>
        Response.json({ iceServers: [{ urls: [udp], ...coturn.credentials() }] })
      );
      assert.deepEqual(await complaintsNow(), []);
      const unset = / secrets unset MESH_TURN_CREDENTIALS_URL MESH_TURN_CREDENTIALS_TOKEN$/;
      const credential = "no-credential-of-its";
      service.answerWith(() =>
        Response.json({ iceServers: [{ urls: [udp], ...coturn.credentials(), credential }] })
      );
      const [refused, ...others] = await complaintsNow();
      assertFaults([refused!, ...others], [udp]);
      assert.match(remedyIn(refused!), unset);
      assert.ok(!JSON.stringify(refused).includes(credential));
      for (const status of [401, 500]) {
        service.answerWith(() => new Response(null, { status }));
        const [silent, ...more] = await complaintsNow();
        assert.deepEqual([silent?.check, silent?.level, more], ["relay", "fault", []]);
        assert.match(silent!.message, /^\/relay gives no credentials: HTTP 503, The TURN service /);
        assert.match(remedyIn(silent!), unset);
        assert.ok(!JSON.stringify(silent).includes(SERVICE_TOKEN));
      }
    });
  },
});
