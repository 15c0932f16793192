import assert from "node:assert/strict";
import { describeFindings } from "../../doctor/findings/finding.ts";
import { Deployment } from "./deployment.ts";

const TIMEOUT = { code: "57014", message: "canceling statement due to statement timeout" };

Deno.test("each request of the doctor fails, one at a time → a fault that says so", async (test) => {
  await using deployment = await Deployment.open();
  const requests = new Set<string>();
  const nameOf = ({ method, path, headers }: { method: string; path: string; headers: Headers }) =>
    `${method} ${path} ${headers.has("apikey") ? "of the operator" : "of anybody"}`;
  const healthy = await deployment.complaintsThrough((request) => {
    requests.add(nameOf({ ...request, headers: new Headers(request.headers) }));
    return undefined;
  });
  assert.deepEqual(healthy, []);
  assert.ok(requests.size >= 15, [...requests].join("\n"));
  for (const request of requests) {
    for (
      const [how, answer] of [
        ["500", () => Response.json(TIMEOUT, { status: 500 })],
        ["an answer of another kind", () => Response.json([null])],
      ] as const
    ) {
      await test.step(`${request} → ${how}`, async () => {
        const complaints = await deployment.complaintsThrough((asked) =>
          nameOf({ ...asked, headers: new Headers(asked.headers) }) === request
            ? answer()
            : undefined
        );
        // What these two tell is in a header, or in an error: any other answer tells nothing.
        if (how !== "500" && /^OPTIONS|\/whoami /.test(request)) return;
        assert.ok(
          complaints.some(({ level }) => level === "fault"),
          `${request}: ${describeFindings(complaints.length > 0 ? complaints : healthy)}`,
        );
      });
    }
  }
});
