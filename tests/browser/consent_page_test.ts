/** examples/consent-page, as the stack serves it for its own site. */
import assert from "node:assert/strict";
import { registerClient, waiting } from "../users/oauth_requests.ts";
import { SUPABASE_URL } from "../conformance/client.ts";
import { newName, signIn } from "../users/signed_in.ts";
import { withPage } from "./chromium.ts";

for (const [button, outcome] of [["Allow", "code"], ["Refuse", "error"]] as const) {
  Deno.test(`the consent page, ${button} → back at the client with the ${outcome}; markup in the client's name is text`, async () => {
    const name = "<img src=x onerror=alert(1)>";
    await using callback = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen() {} },
      () => new Response("back at the client"),
    );
    const address = `http://127.0.0.1:${callback.addr.port}/callback`;
    const client = await registerClient("none", { client_name: name, redirect_uris: [address] });
    const id = await waiting(client, { redirect_uri: address });
    const { key } = await signIn(newName("ada"));
    await withPage(async (page) => {
      await page.goto(`${SUPABASE_URL}/oauth/consent?authorization_id=${id}`);
      await page.getByLabel("Your access token").fill("a.b.c");
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByRole("alert").getByText("This did not work: invalid JWT").waitFor();

      await page.getByLabel("Your access token").fill(key);
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByText(name).waitFor();
      assert.equal(await page.locator("img").count(), 0);
      await page.getByText(address).waitFor();
      await page.getByRole("button", { name: button }).click();
      await page.waitForURL(`${address}?*`);
      assert.ok(new URL(page.url()).searchParams.has(outcome), page.url());
    });
  });
}
