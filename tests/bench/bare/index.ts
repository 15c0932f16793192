/**
 * The floor that operations are measured against. It makes the same SQL calls and signs the same
 * URLs, with the libraries that every function on the platform uses, and does nothing else.
 */
import { createClient } from "@supabase/supabase-js";
import { Hono } from "hono";

const { default: secretKey } = JSON.parse(Deno.env.get("SUPABASE_SECRET_KEYS")!);
const client = createClient(Deno.env.get("SUPABASE_URL")!, secretKey);
const bucket = client.storage.from("agent-artifacts");
const app = new Hono().basePath("/bare");

app.get("/health", (context) => context.json({ status: "ok" }));

app.post("/rpc/:name", async (context) => {
  const parameters = await context.req.json();
  const call = () => client.rpc(sqlFunction(context.req.param("name")), parameters);
  let { data, error, status } = await call();
  // Repeat the call once after a lock timeout, as the service does.
  if (error?.code === "55P03") ({ data, error, status } = await call());
  if (error === null) return context.json(data);
  // An agent may make only a few changes at once, and this function does not queue the others. The
  // load generator repeats a 503.
  return context.json(error, status === 503 ? 503 : 500);
});

app.post("/rpc-and-upload-url/:name", async (context) => {
  const parameters = await context.req.json();
  const [registered, upload] = await Promise.all([
    client.rpc(sqlFunction(context.req.param("name")), parameters),
    bucket.createSignedUploadUrl(`incoming/${parameters.artifact_id}`),
  ]);
  const error = registered.error ?? upload.error;
  if (error) return context.json(error, 500);
  return context.json({ ...registered.data, upload_url: upload.data!.signedUrl });
});

app.post("/rpc-and-download-url/:name", async (context) => {
  const given = await client.rpc(
    sqlFunction(context.req.param("name")),
    await context.req.json(),
  );
  if (given.error) return context.json(given.error, 500);
  const { sealed_path, window_seconds, ...described } = given.data;
  const signed = await bucket.createSignedUrl(sealed_path, window_seconds);
  if (signed.error) return context.json(signed.error, 500);
  return context.json({ ...described, url: signed.data.signedUrl });
});

/** The service's SQL function. A route names it without the prefix. */
function sqlFunction(name: string): string {
  return `agent_api_${name}`;
}

Deno.serve(app.fetch);
