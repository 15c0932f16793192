import assert from "node:assert/strict";
import { Ajv2020 } from "ajv/2020";
import addFormats from "ajv-formats";
import { readDocument } from "../../../packages/operator/doctor/facts/openapi_document.ts";

interface Content {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface ResponseObject {
  readonly description: string;
  readonly headers: Readonly<Record<string, object>>;
  readonly content: Readonly<Record<string, Content>>;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly description: string;
  readonly security?: readonly object[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, ResponseObject | { readonly $ref: string }>>;
}

interface OpenApiDocument {
  readonly info: { readonly description: string };
  readonly security: readonly object[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly responses: Readonly<Record<string, ResponseObject>>;
    readonly headers: Readonly<Record<string, object>>;
  };
}

// The type of the whole document; the type generator declares only the parts that it reads.
const DOCUMENTS = {
  "agent-artifacts": await readDocument("agent-artifacts") as unknown as OpenApiDocument,
  "agent-mesh": await readDocument("agent-mesh") as unknown as OpenApiDocument,
};

function operationsOf({ paths }: OpenApiDocument): [path: string, operation: Operation][] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.values(item).map((operation): [string, Operation] => [path, operation])
  );
}

/** The one path with two methods: GET and HEAD. */
const LINK = "/d/{grant_token}";

type NamedContent = [where: string, content: Content];

/** Every body in the document, named by its path and status. */
function contentsOf(document: OpenApiDocument): NamedContent[] {
  const ofOperations = operationsOf(document).flatMap(([path, { requestBody, responses }]) => [
    ...named(`${path} request`, requestBody),
    ...Object.entries(responses).flatMap(([status, response]) =>
      named(`${path} ${status}`, "$ref" in response ? undefined : response)
    ),
  ]);
  const shared = Object.entries(document.components.responses);
  return [...ofOperations, ...shared.flatMap(([name, response]) => named(name, response))];
}

function named(
  where: string,
  body: { readonly content: Readonly<Record<string, Content>> } | undefined,
): NamedContent[] {
  return Object.values(body?.content ?? {}).map((content) => [where, content]);
}

for (const [name, document] of Object.entries(DOCUMENTS)) {
  Deno.test(`the OpenAPI document of ${name} → an example of every body, valid by its schema`, () => {
    const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
    addFormats.default(ajv);
    ajv.addVocabulary(["components"]);
    const contents = contentsOf(document);
    assert.ok(contents.length > 20, `only ${contents.length} bodies were found`);
    for (const [where, { schema, example, examples = {} }] of contents) {
      const values = Object.values(examples).map(({ value }) => value);
      if (example !== undefined) values.push(example);
      assert.ok(values.length > 0, `${where} has no example`);
      const validate = ajv.compile({ ...schema, components: document.components });
      for (const value of values) {
        assert.ok(validate(value), `${where}: ${ajv.errorsText(validate.errors)}`);
      }
    }
  });

  Deno.test(`the OpenAPI document of ${name} → a description; for each operation a unique name, an explained tag, and who may call it`, () => {
    assert.ok(document.info.description.length > 50);
    const operations = operationsOf(document);
    const ids = operations.map(([, { operationId }]) => operationId);
    assert.deepEqual(ids.filter((id, place) => ids.indexOf(id) !== place), []);
    const tags = new Set(document.tags.map((tag) => tag.name));
    const unexplained = operations.flatMap(([path, operation]) =>
      operation.tags.filter((tag) => !tags.has(tag)).map((tag) => `${path}: ${tag}`)
    );
    assert.deepEqual(unexplained, []);
    for (const [path, { description }] of operations) {
      assert.match(description, /Who may call it: [a-z].*\.$/, path);
    }
  });

  Deno.test(`the OpenAPI document of ${name} → an agent key, a user's token or the secret key for all operations except those that anybody may call`, () => {
    assert.deepEqual(document.security, [
      { agentKey: [] },
      { userToken: [] },
      { secretKey: [] },
    ]);
    const open = operationsOf(document).filter(([, { security }]) => security?.length === 0);
    assert.deepEqual(
      open.map(([path]) => path),
      name === "agent-mesh"
        ? ["/enroll", "/health"]
        : ["/fetch", "/enroll", LINK, LINK, LINK, "/health"],
    );
  });

  Deno.test(`the OpenAPI document of ${name} → a valid schema of every header`, () => {
    const ajv = new Ajv2020();
    const schemas = Object.entries(document.components.headers) as [string, { schema: object }][];
    assert.ok(schemas.length > 2, `only ${schemas.length} headers were found`);
    for (const [header, { schema }] of schemas) {
      assert.ok(ajv.validateSchema(schema), `${header}: ${ajv.errorsText()}`);
    }
  });

  Deno.test(`the OpenAPI document of ${name} → the headers of every response`, () => {
    const common = ["cache-control", "x-request-id"];
    const responses = [
      ...operationsOf(document).flatMap(([path, { responses }]) =>
        Object.entries(responses).map(([status, response]) =>
          [`${path} ${status}`, response] as const
        )
      ),
      ...Object.entries(document.components.responses),
    ];
    const missing = responses.flatMap(([where, response]) =>
      "$ref" in response
        ? []
        : common.filter((header) => !(header in response.headers)).map((header) =>
          `${where} lacks ${header}`
        )
    );
    assert.deepEqual(missing, []);
    const { UnauthenticatedOrSuperseded, MethodNotAllowed, UpstreamUnavailableOrMisconfigured } =
      document.components.responses;
    assert.ok("www-authenticate" in UnauthenticatedOrSuperseded!.headers);
    assert.ok("allow" in MethodNotAllowed!.headers);
    assert.ok("retry-after" in UpstreamUnavailableOrMisconfigured!.headers);
  });
}

Deno.test("the schemas that have a name → each function's nouns", () => {
  assert.deepEqual(
    Object.values(DOCUMENTS).map(({ components }) => Object.keys(components.schemas).sort()),
    [
      [
        "Artifact",
        "CreatedStandingGrant",
        "DeletedArtifact",
        "Download",
        "EndedStandingGrant",
        "ErrorBody",
        "Event",
        "GivenGrant",
        "Grant",
        "InboxEntry",
        "News",
        "Recipient",
        "RegisteredArtifact",
        "StandingGrant",
        "Task",
        "VerifyingArtifact",
      ],
      [
        "ErrorBody",
        "Event",
        "Heartbeat",
        "IceServer",
        "MeshConfiguration",
        "Netmap",
        "News",
        "Path",
        "PathReport",
        "Peer",
        "Rule",
        "RuleRequest",
        "VisiblePeer",
        "WgQuickConfiguration",
      ],
    ],
  );
});

Deno.test("/wg_config in the document → JSON, or text; /commit → 200, or 202 with retry-after", () => {
  const config = DOCUMENTS["agent-mesh"].paths["/wg_config"]!["post"]!
    .responses["200"] as ResponseObject;
  assert.deepEqual(Object.keys(config.content), ["application/json", "text/plain"]);
  const { responses } = DOCUMENTS["agent-artifacts"].paths["/commit"]!["post"]!;
  assert.ok("retry-after" in (responses["202"] as ResponseObject).headers);
});

Deno.test("a link in the document → 302 with a location and no body; errors as JSON or as a page, but for a wrong method", () => {
  const { get, head } = DOCUMENTS["agent-artifacts"].paths[LINK]!;
  for (const { responses } of [get!, head!]) {
    const { "302": found, "410": gone, "405": wrongMethod } = responses as Readonly<
      Record<string, ResponseObject>
    >;
    assert.ok("location" in found!.headers && "referrer-policy" in found!.headers);
    assert.equal(found!.content, undefined);
    assert.deepEqual(Object.keys(gone!.content), ["application/json", "text/html", "text/plain"]);
    const codes = Object.keys(gone!.content["application/json"]!.examples ?? {});
    assert.deepEqual(codes, [
      "grant_expired",
      "grant_revoked",
      "grant_used_up",
      "artifact_expired",
      "artifact_lost",
    ]);
    assert.deepEqual(Object.keys(wrongMethod!.content), ["application/json"]);
  }
});

Deno.test("/psk/keys, which only psk reencrypt calls → not in the document", () => {
  assert.ok(!JSON.stringify(DOCUMENTS).includes("psk/keys"));
});

/** Global functions of a browser's page that Deno does not have. */
const OF_BROWSERS = ["open", "find", "focus", "blur", "moveTo", "moveBy", "scroll", "scrollTo"];

/** Words that cannot be a function's name in strict mode. */
const RESERVED = [
  "arguments",
  "await",
  "break",
  "case",
  "catch",
  "class",
  "const",
  "continue",
  "debugger",
  "default",
  "delete",
  "do",
  "else",
  "enum",
  "eval",
  "export",
  "extends",
  "false",
  "finally",
  "for",
  "function",
  "if",
  "implements",
  "import",
  "in",
  "instanceof",
  "interface",
  "let",
  "new",
  "null",
  "package",
  "private",
  "protected",
  "public",
  "return",
  "static",
  "super",
  "switch",
  "this",
  "throw",
  "true",
  "try",
  "typeof",
  "undefined",
  "var",
  "void",
  "while",
  "with",
  "yield",
];

Deno.test("an operationId, which generators use as a function's name → no reserved word and no global of JavaScript", () => {
  const taken = new Set([...RESERVED, ...OF_BROWSERS, ...Object.getOwnPropertyNames(globalThis)]);
  assert.ok(taken.has("fetch"));
  const ids = Object.values(DOCUMENTS).flatMap(operationsOf)
    .map(([, { operationId }]) => operationId);
  assert.ok(ids.includes("fetchGrant"));
  assert.deepEqual(ids.filter((id) => taken.has(id)), []);
});
