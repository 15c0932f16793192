/** Compares answers with the OpenAPI documents that the deployment serves. */
import assert from "node:assert/strict";
import { Ajv2020, type AnySchemaObject } from "ajv/2020";
import addFormats from "ajv-formats";
import { AnsweredFields } from "./fields/answered_fields.ts";

/** An answer as it was received. */
export interface ReceivedAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

interface Reference {
  readonly $ref: string;
}

interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>;
  readonly components: AnySchemaObject;
}

interface OperationObject {
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>;
}

interface ResponseObject {
  readonly headers?: Readonly<Record<string, HeaderObject | Reference>>;
  readonly content?: Readonly<Record<string, MediaTypeObject>>;
}

interface MediaTypeObject {
  readonly schema: AnySchemaObject;
  /** For errors: one example per code. */
  readonly examples?: Readonly<Record<string, unknown>>;
}

interface HeaderObject {
  readonly required?: boolean;
  readonly schema: AnySchemaObject;
}

/** Headers that the document must declare for every answer that has them. */
const MEANINGFUL_HEADERS = ["retry-after", "www-authenticate", "allow", "x-request-id"];

/**
 * Paths outside the document: the document itself, MCP, which describes itself, OAuth's token
 * endpoint, which RFC 6749 describes, and the paths that only commands call.
 */
const UNLISTED = [
  "/openapi.json",
  "/mcp",
  "/token",
  "/psk/keys",
  "/enrolment/put",
  "/enrolment/list",
  "/enrolment/revoke",
  "/enrolment/test",
  "/webhooks/put",
  "/webhooks/deliver",
];

/** The document's schema of every error. */
const ERROR_SCHEMA = "#/components/schemas/ErrorBody";

/** Validates answers against one function's document. */
export class DescribedFunction {
  // Does not check the schemas themselves, as Ajv would first compile JSON Schema's own schema, in
  // each test file: tests/unit/functions/openapi_test.ts checks them.
  readonly #ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true, validateSchema: false });

  readonly fields: AnsweredFields;

  constructor(readonly document: OpenApiDocument) {
    this.fields = new AnsweredFields(document);
    addFormats.default(this.#ajv);
    this.#ajv.addVocabulary(["components", "paths"]);
    const { paths, components } = document;
    this.#ajv.addSchema({ $id: "document", paths, components });
  }

  /**
   * Fails unless the document describes this answer. `path` does not include the function's name.
   */
  assertDescribed(
    { method, path }: { readonly method: string; readonly path: string },
    answer: ReceivedAnswer,
  ): void {
    const request = `${method} ${path} → ${answer.status}`;
    const template = Object.keys(this.document.paths).find((template) => fits(template, path));
    if (template === undefined) return this.#assertUnlisted(request, { method, path }, answer);
    const operations = this.document.paths[template]!;
    const isDescribed = method.toLowerCase() in operations;
    const describedMethod = isDescribed ? method.toLowerCase() : Object.keys(operations)[0]!;
    if (!isDescribed) {
      assert.equal(answer.status, 405, `${request}: the document has no ${method} of it`);
    }
    const pointer = `#/paths/${escape(template)}/${describedMethod}/responses/${answer.status}`;
    const described = operations[describedMethod]!.responses[answer.status];
    assert.ok(described, `${request}: no such status in the document`);
    const [response, responsePointer] = this.#resolve(described, pointer);
    this.#assertHeaders(request, response, answer.headers);
    if (method === "HEAD" || response.content === undefined) {
      assert.equal(answer.text, "", `${request}: the document has no body of it`);
      return;
    }
    this.#assertBody(request, { response, pointer: responsePointer }, answer);
  }

  #assertUnlisted(
    request: string,
    { method, path }: { readonly method: string; readonly path: string },
    answer: ReceivedAnswer,
  ): void {
    if (answer.status < 400) {
      assert.ok(UNLISTED.includes(path), `${request}: the document has no such path`);
      return;
    }
    if (path === "/token" && method === "POST") {
      assert.equal(typeof JSON.parse(answer.text).error, "string", request);
      return;
    }
    this.#assertValid(request, ERROR_SCHEMA, JSON.parse(answer.text));
  }

  #assertHeaders(request: string, response: ResponseObject, headers: Headers): void {
    for (const [name, described] of Object.entries(response.headers ?? {})) {
      const [header] = this.#resolve(described, "");
      const text = headers.get(name);
      if (text === null) {
        assert.ok(header.required !== true, `${request}: has no ${name}`);
        continue;
      }
      const value = header.schema["type"] === "integer" ? Number(text) : text;
      const isValid = this.#ajv.validate(header.schema, value);
      assert.ok(isValid, `${request}: ${name}: ${this.#ajv.errorsText()}`);
    }
    const undescribed = MEANINGFUL_HEADERS.filter((name) =>
      headers.has(name) && response.headers?.[name] === undefined
    );
    assert.deepEqual(undescribed, [], `${request}: headers that the document does not have`);
  }

  #assertBody(
    request: string,
    { response, pointer }: { readonly response: ResponseObject; readonly pointer: string },
    { headers, text }: ReceivedAnswer,
  ): void {
    const type = headers.get("content-type")?.split(";")[0] ?? "";
    const content = response.content?.[type];
    assert.ok(content, `${request}: the document has no ${type || "empty body"} of it`);
    const body = type === "application/json" ? JSON.parse(text) : text;
    this.#assertValid(request, `${pointer}/content/${escape(type)}/schema`, body);
    const code: string | undefined = typeof body === "string" ? undefined : body.error?.code;
    if (code === undefined) return;
    const { examples = {} } = content;
    assert.ok(code in examples, `${request}: the document has no ${code} of it`);
    assert.equal(body.error.retryable, headers.has("retry-after"), `${request}: retry-after`);
  }

  #assertValid(request: string, pointer: string, body: unknown): void {
    const validate = this.#ajv.getSchema(`document${pointer}`);
    assert.ok(validate, `${pointer} is not in the document`);
    assert.ok(
      validate(body),
      `${request}: ${this.#ajv.errorsText(validate.errors)} in ${JSON.stringify(body)}`,
    );
    this.fields.note(pointer, body);
  }

  /**
   * Resolves a reference. Returns the object and its JSON pointer (`pointer` if not a reference).
   */
  #resolve<Described extends object>(
    described: Described | Reference,
    pointer: string,
  ): [Described, string] {
    if (!("$ref" in described)) return [described, pointer];
    const resolved = described.$ref.split("/").slice(1).reduce<unknown>(
      (value, name) => (value as Record<string, unknown>)[name],
      this.document,
    );
    return [resolved as Described, described.$ref];
  }
}

/** Whether a request's path fits a template of the document, such as `/d/{grant_token}`. */
function fits(template: string, path: string): boolean {
  const segments = template.split("/");
  const given = path.split("/");
  return segments.length === given.length &&
    segments.every((segment, index) =>
      segment === given[index] || (segment.startsWith("{") && given[index] !== "")
    );
}

/** Escapes a name for a JSON pointer (RFC 6901). */
function escape(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}
