import assert from "node:assert/strict";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isSource } from "../../../dev/clients/client_sources.ts";
import { CONTRACTS, contractTypes } from "../../../dev/clients/contract.ts";
import { PYTHON_MODELS, pythonModels } from "../../../dev/clients/python_models.ts";
import {
  type ContractDocument,
  readDocument,
} from "../../operator/doctor/facts/openapi_document.ts";
import { SHARED_SOURCES, sharedSource } from "../../../dev/clients/shared_sources.ts";
import { IMPORT_MAP } from "../../../dev/pins/pins.ts";
import { PROJECT } from "../../local/project.ts";

for (const { name, file } of CONTRACTS) {
  Deno.test(`${file} → what \`deno task client:types\` makes of the document of ${name}`, async () => {
    const written = await readFile(join(PROJECT, file), "utf8");
    assert.equal(await contractTypes(await readDocument(name)), written);
  });
}

for (const { name, file } of PYTHON_MODELS) {
  Deno.test(`${file} → what \`deno task client:types\` makes of the document of ${name}`, async () => {
    const written = await readFile(join(PROJECT, file), "utf8");
    assert.equal(pythonModels(await readDocument(name)), written);
  });
}

for (const { from, file } of SHARED_SOURCES) {
  Deno.test(`${file} → what \`deno task client:types\` makes of ${from}`, async () => {
    assert.equal(await readFile(join(PROJECT, file), "utf8"), await sharedSource(from));
  });
}

Deno.test("package.json of the client → names no packages: a release contains them, and Deno would demand others of the lock file", async () => {
  const { name, ...fields } = JSON.parse(
    await readFile(join(PROJECT, "packages/agent-files/package.json"), "utf8"),
  );
  assert.equal(name, "agent-files");
  assert.deepEqual(Object.keys(fields).filter((field) => /dependencies/i.test(field)), []);
});

/** The document with a renamed property in a named schema. */
function renamed(document: ContractDocument, schema: string, property: string): ContractDocument {
  const copy = structuredClone(document) as unknown as {
    components: {
      schemas: Record<string, { properties: Record<string, unknown>; required: string[] }>;
    };
  };
  const { properties, required } = copy.components.schemas[schema]!;
  properties[`${property}_of_late`] = properties[property];
  delete properties[property];
  required[required.indexOf(property)] = `${property}_of_late`;
  return copy as unknown as ContractDocument;
}

const RENAMED = [
  ["agent-artifacts", "Artifact", "expires_at"],
  ["agent-artifacts", "InboxEntry", "from_agent"],
  ["agent-mesh", "Heartbeat", "heartbeat_interval_seconds"],
] as const;

Deno.test("a contract with renamed properties → the client does not compile, for each of them", async () => {
  const directory = await Deno.makeTempDir();
  try {
    await cp(join(PROJECT, "packages"), join(directory, "packages"), {
      recursive: true,
      filter: (path) => isSource(path) && !path.endsWith("package.json"),
    });
    for (const file of ["deno.json", IMPORT_MAP]) {
      await cp(join(PROJECT, file), join(directory, file));
    }
    for (const { name, file } of CONTRACTS) {
      const changes = RENAMED.filter(([contract]) => contract === name);
      const document = changes.reduce(
        (changed, [, schema, property]) => renamed(changed, schema, property),
        await readDocument(name),
      );
      await writeFile(join(directory, file), await contractTypes(document));
    }
    const { code, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--no-lock", "packages/cli/main.ts"],
      cwd: directory,
    }).output();
    assert.equal(code, 1);
    const errors = new TextDecoder().decode(stderr);
    for (const [, , property] of RENAMED) assert.match(errors, new RegExp(`'${property}'`));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
});

Deno.test("every operation of both documents → sent by the client", async () => {
  const source = join(PROJECT, "packages/agent-files");
  const files = (await readdir(source, { recursive: true }))
    .filter((file) => file.endsWith(".ts") && !file.startsWith("contract/"))
    .filter((file) => isSource(join(source, file)));
  const code = (await Promise.all(files.map((file) => readFile(join(source, file), "utf8"))))
    .join();
  for (const { name } of CONTRACTS) {
    const { paths } = await readDocument(name);
    // Links are for browsers, so no client posts the form of their page.
    const operations = Object.keys(paths)
      .filter((path) => "post" in paths[path]! && !path.startsWith("/d/"));
    assert.ok(operations.length > 8, operations.join());
    assert.deepEqual(
      operations.filter((path) => !code.includes(`"${path}"`))
        .map((path) => `${name} ${path}: no method of packages/agent-files/ sends it`),
      [],
    );
  }
});
