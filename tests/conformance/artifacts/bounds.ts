import { send } from "../client.ts";

/** The part of the OpenAPI document that is read here. */
interface OpenApiDocument {
  readonly paths: Record<string, {
    readonly post: { readonly requestBody: { readonly content: Record<string, MediaType> } };
  }>;
}

interface MediaType {
  readonly schema: { readonly properties: Record<string, { readonly maximum: number }> };
}

/** The deployment's limits, from its OpenAPI document: size in bytes, and ttl_days. */
export async function readBounds(): Promise<{ maxSize: number; maxTtlDays: number }> {
  const path = "/agent-artifacts/openapi.json";
  const { body } = await send<OpenApiDocument>(path, { method: "GET" });
  const { content } = body.paths["/register"]!.post.requestBody;
  const { size, ttl_days } = content["application/json"]!.schema.properties;
  return { maxSize: size!.maximum, maxTtlDays: ttl_days!.maximum };
}
