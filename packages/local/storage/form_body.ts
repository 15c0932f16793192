import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";
import { reasonOf } from "../../command/command_error.ts";
import { storageErrors } from "./storage_error.ts";
import { parseUserMetadata, SenderGone, type UploadBody } from "./upload_body.ts";

/** The real server's limit. It ignores further fields. */
const MAX_FIELDS = 10;

interface FilePart {
  readonly stream: BusboyFileStream;
  /** In lower case, without parameters; `text/plain` if the part names none. */
  readonly mimetype: string;
}

/**
 * Whether the body is multipart/form-data. supabase-js sends a Blob, a File or FormData this way,
 * and browsers send forms this way.
 */
export function isForm(request: Request): boolean {
  return request.headers.get("content-type")?.startsWith("multipart/form-data") ?? false;
}

/**
 * Reads a form up to its file: the first part with a file name or of type
 * `application/octet-stream`, whatever the part is called. Only fields before the file count.
 * Further files are ignored. The rest of the form is read together with the file's bytes, which
 * fail with EntityTooLarge if there are more than `sizeLimit`. Throws StorageError if there is no
 * file.
 *
 * All of this is as on the real server (storage-api, `fileUploadFromRequest`).
 */
export async function readForm(
  request: Request,
  { sizeLimit }: { readonly sizeLimit: number },
): Promise<UploadBody> {
  const parser = openParser(request, sizeLimit);
  const fields = new Map<string, string>();
  parser.on("field", (name, value) => fields.set(name, value));
  const source = Readable.from(request.body ?? []);
  const whole = pipeline(source, parser);
  const { stream, mimetype } = await firstFile(parser, whole);
  // If the form breaks off, its file must end too.
  whole.catch((cause) => stream.destroy(cause));

  async function* bytes(): AsyncGenerator<Uint8Array> {
    try {
      yield* stream;
      await whole;
    } catch (cause) {
      throw source.errored === null
        ? storageErrors.internal()
        : new SenderGone("The sender went away.", { cause });
    } finally {
      source.destroy();
    }
    if (stream.truncated) throw storageErrors.entityTooLarge();
  }

  const seconds = fields.get("cacheControl");
  const metadata = fields.get("metadata") ?? fields.get("userMetadata");
  return {
    bytes: bytes(),
    mimetype: fields.get("contentType") || mimetype,
    cacheControl: seconds ? `max-age=${seconds}` : "no-cache",
    userMetadata: metadata === undefined ? null : parseUserMetadata(metadata),
  };
}

function openParser(request: Request, sizeLimit: number): BusboyInstance {
  try {
    return new Busboy({
      headers: { "content-type": request.headers.get("content-type") ?? "" },
      limits: { fields: MAX_FIELDS, files: 1, fileSize: sizeLimit },
    });
  } catch (cause) {
    // The content type names no boundary.
    throw storageErrors.noContentProvided(reasonOf(cause));
  }
}

/** Resolves when the file begins. `whole` settles when the form was read or broke off. */
function firstFile(parser: BusboyInstance, whole: Promise<unknown>): Promise<FilePart> {
  return new Promise((resolve, reject) => {
    parser.once("file", (_name, stream, _fileName, _encoding, mimetype) => {
      // If the form breaks off at once, the error arrives here before anybody reads. `whole`
      // reports it again.
      stream.on("error", () => {});
      resolve({ stream, mimetype });
    });
    whole.then(
      () => reject(storageErrors.noContentProvided("No content provided")),
      (cause) => reject(storageErrors.noContentProvided(reasonOf(cause))),
    );
  });
}
