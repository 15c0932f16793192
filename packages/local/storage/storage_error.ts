/** An error in Storage's format: mostly HTTP 400, with the real status as a string in the body. */
export class StorageError extends Error {
  override readonly name = "StorageError";

  constructor(
    readonly code: string,
    readonly body: {
      readonly statusCode: string;
      readonly error: string;
      readonly message: string;
    },
    /** The status on the wire. */
    readonly status = 400,
  ) {
    super(body.message);
  }

  toResponse(): Response {
    return Response.json({ ...this.body, code: this.code }, { status: this.status });
  }
}

function failure(code: string, statusCode: string, words: { error?: string; message: string }) {
  return new StorageError(code, { statusCode, error: words.error ?? code, message: words.message });
}

/** Every error of the stand-in, with the words of the real server. */
export const storageErrors = {
  noSuchBucket: () =>
    failure("NoSuchBucket", "404", { error: "Bucket not found", message: "Bucket not found" }),
  relatedResourceNotFound: () =>
    failure("InvalidRequest", "404", { message: "The related resource does not exist" }),
  noSuchKey: () => failure("NoSuchKey", "404", { error: "not_found", message: "Object not found" }),
  keyAlreadyExists: () =>
    failure("KeyAlreadyExists", "409", {
      error: "Duplicate",
      message: "The resource already exists",
    }),
  resourceAlreadyExists: () =>
    failure("ResourceAlreadyExists", "409", {
      error: "Duplicate",
      message: "The resource already exists",
    }),
  invalidKey: (key: string) => failure("InvalidKey", "400", { message: `Invalid key: ${key}` }),
  invalidMediaType: () =>
    failure("InvalidMimeType", "415", {
      error: "invalid_mime_type",
      message: "Invalid Content-Type header",
    }),
  entityTooLarge: () =>
    failure("EntityTooLarge", "413", {
      error: "Payload too large",
      message: "The object exceeded the maximum allowed size",
    }),
  accessDenied: (message: string) =>
    failure("AccessDenied", "403", { error: "Unauthorized", message }),
  invalidJwt: (message: string) => failure("InvalidJWT", "400", { message }),
  invalidSignature: () => failure("InvalidSignature", "400", { message: "Invalid signature" }),
  invalidRequest: (message: string) =>
    failure("InvalidRequest", "400", { error: "Error", message }),
  noContentProvided: (message: string) => failure("InvalidRequest", "400", { message }),
  routeNotFound: (method: string, path: string) =>
    failure("InvalidRequest", "404", {
      error: "Not Found",
      message: `Route ${method}:${path} not found`,
    }),
  invalidRange: () =>
    new StorageError(
      "InvalidRange",
      { statusCode: "416", error: "invalid_range", message: "invalid range provided" },
      416,
    ),
  internal: () =>
    new StorageError(
      "InternalError",
      { statusCode: "500", error: "Internal", message: "Internal server error" },
      500,
    ),
};
