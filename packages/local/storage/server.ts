import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { type Context, Hono } from "hono";
import { answerWithoutRights } from "./anonymous.ts";
import { Tokens } from "./tokens.ts";
import { sendObject } from "./download.ts";
import { folderPrefix, listFolder } from "./listing.ts";
import { moveObject } from "./move.ts";
import { ObjectFiles } from "./object_files.ts";
import { type ObjectAddress, ObjectRows } from "./object_rows.ts";
import { StorageError, storageErrors } from "./storage_error.ts";
import { isValidPath, receiveUpload } from "./upload.ts";
import { SenderGone } from "./upload_body.ts";

/** The stack options that Storage needs. */
export interface StorageOptions {
  /** Bytes, for buckets without a limit of their own. */
  readonly storageSizeLimit: number;
  /** Whether an upload is flushed to the disk before it is answered. */
  readonly durable: boolean;
  /** For tests: every move copies the bytes and takes this long. Null: a move happens at once. */
  readonly storageCopyMilliseconds: number | null;
}

export interface StoragePlace {
  readonly directory: string;
  /** For the role `supabase_storage_admin`. */
  readonly databaseUrl: string;
  readonly jwtSecret: string;
}

export interface StorageServer {
  readonly port: number;
  stop(): Promise<void>;
}

/** What the stand-in keeps its objects in, and what it signs with. */
export interface StorageParts {
  readonly rows: ObjectRows;
  readonly files: Pick<ObjectFiles, "receive" | "read" | "duplicate" | "copy" | "remove">;
  readonly tokens: Pick<Tokens, "signUpload" | "signDownload" | "verifySigned" | "roleOf">;
  /** Bytes, for buckets without a limit of their own. */
  readonly sizeLimit: number;
  /** As in StorageOptions. */
  readonly copyMilliseconds: number | null;
}

/** Starts the stand-in on a port of its own. */
export async function startStorage(
  options: StorageOptions,
  place: StoragePlace,
): Promise<StorageServer> {
  const rows = ObjectRows.open(place.databaseUrl);
  const files = await ObjectFiles.open(place.directory, options);
  await files.keepOnly(await rows.versions());
  const app = createStorageApp({
    rows,
    files,
    tokens: new Tokens(place.jwtSecret),
    sizeLimit: options.storageSizeLimit,
    copyMilliseconds: options.storageCopyMilliseconds,
  });

  // Uses node:http, because Deno.serve buffers all of a chunked body, however slowly the body is
  // read, and takes longer per chunk the more chunks it holds.
  const server = createServer(
    // No limit: an upload may take any time.
    { requestTimeout: 0 },
    getRequestListener(app.fetch, { overrideGlobalObjects: false }),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      server.close();
      server.closeIdleConnections();
      await once(server, "close");
      await rows.close();
    },
  };
}

/**
 * A stand-in for Supabase Storage. It knows only the calls that the service and its callers make,
 * and answers them like the real server. It is behind the gateway, so paths come without
 * `/storage/v1`.
 */
export function createStorageApp(parts: StorageParts): Hono {
  const { rows, files, tokens, sizeLimit, copyMilliseconds } = parts;
  const app = new Hono();

  app.put("/object/upload/sign/:bucket/:path{.+}", async (context) => {
    const address = addressOf(context);
    const objectUrl = `${address.bucket}/${address.path}`;
    const { upsert } = await tokens.verifySigned(context.req.query("token"), {
      scope: "upload",
      objectUrl,
    });
    await receiveUpload(context.req.raw, { ...address, upsert }, { rows, files, sizeLimit });
    return context.json({ Key: objectUrl });
  });
  app.get("/object/sign/:bucket/:path{.+}", async (context) => {
    const address = addressOf(context);
    const { expiresAt } = await tokens.verifySigned(context.req.query("token"), {
      scope: "download",
      objectUrl: `${address.bucket}/${address.path}`,
    });
    return sendObject(context.req.raw, { address, rows, files, expiresAt });
  });

  // The first request of a client of resumable uploads. The rest of that protocol is not needed
  // here.
  app.options(
    "/upload/resumable",
    (context) =>
      context.body(null, 204, { "tus-version": "1.0.0", "tus-max-size": String(sizeLimit) }),
  );

  app.use(async (context, next) => {
    const role = await tokens.roleOf(context.req.header("authorization"));
    if (role !== "service_role") return answerWithoutRights(context);
    return await next();
  });
  app.get("/bucket/:bucket", async (context) => {
    const row = await rows.findBucket(context.req.param("bucket"));
    if (row === null) throw storageErrors.noSuchBucket();
    return context.json(row);
  });
  app.post("/object/upload/sign/:bucket/:path{.+}", async (context) => {
    const address = addressOf(context);
    const upsert = context.req.header("x-upsert") === "true";
    if (await rows.findBucket(address.bucket) === null) {
      throw storageErrors.relatedResourceNotFound();
    }
    if (!upsert && await rows.find(address) !== null) throw storageErrors.keyAlreadyExists();
    const objectUrl = `${address.bucket}/${address.path}`;
    const token = await tokens.signUpload(objectUrl, { upsert });
    return context.json({ url: `/object/upload/sign/${objectUrl}?token=${token}`, token });
  });
  app.post("/object/sign/:bucket/:path{.+}", async (context) => {
    const address = addressOf(context);
    const { expiresIn } = await context.req.json<{ expiresIn?: unknown }>();
    if (typeof expiresIn !== "number" || !(expiresIn >= 1)) {
      throw storageErrors.invalidRequest("body/expiresIn must be >= 1");
    }
    if (await rows.find(address) === null) throw storageErrors.noSuchKey();
    const objectUrl = `${address.bucket}/${address.path}`;
    const token = await tokens.signDownload(objectUrl, expiresIn);
    return context.json({ signedURL: `/object/sign/${objectUrl}?token=${token}` });
  });
  app.get("/object/info/:bucket/:path{.+}", async (context) => {
    const row = await rows.findInBucket(addressOf(context));
    return context.json({
      id: row.id,
      name: row.name,
      version: row.version,
      bucket_id: row.bucket_id,
      size: row.metadata.size,
      content_type: row.metadata.mimetype,
      cache_control: row.metadata.cacheControl,
      etag: row.metadata.eTag,
      metadata: row.user_metadata,
      last_modified: row.metadata.lastModified,
      created_at: row.created_at,
    });
  });
  app.post("/object/move", async (context) => {
    const { bucketId, sourceKey, destinationKey, destinationBucket } = await context.req.json<
      Record<string, string | undefined>
    >();
    if (!bucketId || !sourceKey || !destinationKey) {
      throw storageErrors.invalidRequest("body must have required properties");
    }
    if (!isValidPath(destinationKey)) throw storageErrors.invalidKey(destinationKey);
    const target = { bucket: destinationBucket ?? bucketId, path: destinationKey };
    const row = await moveObject(
      { source: { bucket: bucketId, path: sourceKey }, target },
      { rows, files, copyMilliseconds },
    );
    return context.json({
      message: "Successfully moved",
      Id: row.id,
      Key: `${target.bucket}/${target.path}`,
    });
  });
  app.post("/object/list/:bucket", async (context) => {
    const request = await context.req.json();
    const bucket = context.req.param("bucket");
    return context.json(listFolder(await rows.under(bucket, folderPrefix(request)), request));
  });
  app.delete("/object/:bucket", async (context) => {
    const { prefixes } = await context.req.json<{ prefixes?: unknown }>();
    if (!Array.isArray(prefixes) || prefixes.length === 0) {
      throw storageErrors.invalidRequest("body/prefixes must NOT have fewer than 1 items");
    }
    const bucket = context.req.param("bucket");
    const { removed, unneeded } = await rows.remove(bucket, prefixes.map(String));
    for (const version of unneeded) await files.remove(version);
    return context.json(removed);
  });
  app.get(
    "/object/authenticated/:bucket/:path{.+}",
    (context) => sendObject(context.req.raw, { address: addressOf(context), rows, files }),
  );
  app.get(
    "/object/:bucket/:path{.+}",
    (context) => sendObject(context.req.raw, { address: addressOf(context), rows, files }),
  );

  app.notFound((context) =>
    storageErrors.routeNotFound(context.req.method, context.req.path).toResponse()
  );
  app.onError((error) => {
    if (error instanceof StorageError) return error.toResponse();
    if (!(error instanceof SenderGone)) console.error("storage:", error);
    return storageErrors.internal().toResponse();
  });

  return app;
}

function addressOf(context: Context): ObjectAddress {
  return { bucket: context.req.param("bucket")!, path: context.req.param("path")! };
}
