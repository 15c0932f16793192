import assert from "node:assert/strict";
import {
  type Artifact,
  artifactTest,
  deleteArtifact,
  download,
  grant,
  leavesUnchanged,
  publish,
  sha256,
  upload,
} from "../artifacts.ts";
import { assertToolError, connect, DIALECTS } from "./mcp_client.ts";

const MAX_TEXT_BYTES = 16 * 1024;

interface Pending {
  readonly artifact_id: string;
  readonly command: string;
}

interface Gotten {
  readonly command: string;
  readonly not_inline?: string;
}

interface Inline {
  readonly artifact_id: string;
  readonly sha256: string;
  readonly text: string;
}

/** The only URL in a command. */
function urlIn(command: string): string {
  const [, url, ...others] = command.split(/'(https?:[^']+)'/);
  assert.ok(url !== undefined && others.length === 1, command);
  return url;
}

for (const dialect of DIALECTS) {
  artifactTest(
    `put with text, then get inline, by ${dialect} → committed at once; the same text`,
    async ({ planner, builder }) => {
      await using client = await connect("agent-artifacts", planner, { dialect });
      const text = "First the cellar,\nthen the roof. 🏠";
      const artifact = await client.succeed<Artifact>("put", {
        agent_id: planner.id,
        key: "plans/house.txt",
        mime: "text/plain",
        ttl_days: 1,
        text,
      });
      assert.equal(artifact.state, "committed");
      assert.equal(artifact.sha256, sha256(text));
      await client.succeed("grant", {
        artifact_id: artifact.artifact_id,
        to_agent: builder.id,
        expires_at: artifact.expires_at,
      });
      await using reader = await connect("agent-artifacts", builder, { dialect });
      const { artifact_id } = artifact;
      const gotten = await reader.succeed<Inline>("get", { artifact_id, inline: true });
      assert.equal(gotten.text, text);
      assert.equal(gotten.sha256, artifact.sha256);
      assert.equal("url" in gotten, false);
      await deleteArtifact(planner, artifact);
    },
  );
}

artifactTest(
  "put without text → a command with the upload URL; what is PUT there and committed is the artifact",
  async ({ planner }) => {
    await using client = await connect("agent-artifacts", planner);
    const pending = await client.succeed<Pending>("put", {
      agent_id: planner.id,
      key: "k",
      mime: "text/plain",
      ttl_days: 1,
      size: 5,
      file: "a file",
    });
    assert.ok(pending.command.startsWith("curl -gsS --fail-with-body -T 'a file' 'http"));
    assert.equal(await upload(urlIn(pending.command), "hello"), 200);
    const { artifact_id } = pending;
    const wrong = await client.call("commit", { artifact_id, sha256: sha256("other") });
    assert.deepEqual(assertToolError(wrong, "checksum_mismatch"), {
      expected: sha256("other"),
      actual: sha256("hello"),
    });
    assert.equal(await upload(urlIn(pending.command), "hello"), 200);
    const committed = await client.succeed<Artifact>("commit", {
      artifact_id,
      sha256: sha256("hello"),
    });
    assert.equal(committed.state, "committed");
    await deleteArtifact(planner, committed);
  },
);

artifactTest(
  "put with more than 16 KiB of text, without text and size, with a bad file name, for another agent → the error of HTTP, and nothing registered",
  async ({ planner, builder }) => {
    await using client = await connect("agent-artifacts", planner);
    const given = { agent_id: planner.id, key: "k", mime: "text/plain", ttl_days: 1 };
    const issuesOf = async (put: object) => {
      const { issues } = assertToolError(await client.call("put", put), "invalid_request");
      return (issues as { path: string }[]).map(({ path }) => path);
    };
    await leavesUnchanged([planner, builder], async () => {
      const tooLong = "é".repeat(MAX_TEXT_BYTES / 2) + "x";
      assert.deepEqual(await issuesOf({ ...given, text: tooLong }), ["text"]);
      assert.deepEqual(await issuesOf({ ...given, text: "\ud800" }), ["text"]);
      assert.deepEqual(await issuesOf(given), ["size"]);
      assert.deepEqual(await issuesOf({ ...given, key: "/", text: "x" }), ["key"]);
      for (const file of ["a\nb", "a\\b"]) {
        assert.deepEqual(await issuesOf({ ...given, size: 1, file }), ["file"]);
      }
      const foreign = { ...given, agent_id: builder.id, text: "x" };
      assertToolError(await client.call("put", foreign), "forbidden");
    });
  },
);

artifactTest(
  "put of exactly 16 KiB of text, and of none → committed, and read inline",
  async ({ planner }) => {
    await using client = await connect("agent-artifacts", planner);
    for (const text of ["x".repeat(MAX_TEXT_BYTES), ""]) {
      const artifact = await client.succeed<Artifact>("put", {
        agent_id: planner.id,
        key: "k",
        mime: "text/plain",
        ttl_days: 1,
        text,
      });
      const { artifact_id } = artifact;
      const gotten = await client.succeed<Inline>("get", { artifact_id, inline: true });
      assert.equal(gotten.text, text);
      await deleteArtifact(planner, artifact);
    }
  },
);

artifactTest(
  "get → a resource link, and a command that downloads and verifies, without a name of the owner's",
  async ({ planner, builder }) => {
    const artifact = await publish(planner, { key: "it's/~.bashrc", content: "hello" });
    await grant(planner, artifact, { to: builder });
    await using client = await connect("agent-artifacts", builder);
    const { artifact_id } = artifact;
    const { body, link } = await client.call<Gotten>("get", { artifact_id });
    assert.deepEqual(link, {
      type: "resource_link",
      uri: `artifact://${artifact_id}`,
      name: artifact.key,
      mimeType: artifact.mime,
      size: 5,
    });
    assert.equal(await download(urlIn(body.command)), "hello");
    assert.ok(body.command.startsWith(`curl -sSf -o '${artifact_id}' 'http`));
    assert.ok(
      body.command.endsWith(`' && echo '${artifact.sha256}  ${artifact_id}' | sha256sum -c`),
    );
    const named = await client.succeed<Gotten>("get", { artifact_id, file: "-" });
    assert.ok(named.command.includes("-o './-' "));
  },
);

artifactTest(
  "get inline of what is larger than 16 KiB, or no UTF-8 → the command, and why",
  async ({ planner }) => {
    await using client = await connect("agent-artifacts", planner);
    const large = await publish(planner, { content: "x".repeat(MAX_TEXT_BYTES + 1) });
    const gotten = await client.succeed<Gotten>("get", { ...idOf(large), inline: true });
    assert.equal(gotten.not_inline, "It has 16385 bytes. At most 16384 go inline.");
    assert.ok(gotten.command.startsWith("curl "));

    const bytes = new Uint8Array([0xff, 0xfe, 0x00]);
    const pending = await client.succeed<Pending>("put", {
      agent_id: planner.id,
      key: "k",
      mime: "text/plain",
      ttl_days: 1,
      size: bytes.length,
    });
    assert.equal(await upload(urlIn(pending.command), bytes), 200);
    await client.succeed("commit", { ...idOf(pending), sha256: sha256(bytes) });
    const binary = await client.succeed<Gotten>("get", { ...idOf(pending), inline: true });
    assert.equal(binary.not_inline, "It is no text in UTF-8.");
    await deleteArtifact(planner, pending);
  },
);

artifactTest(
  "get by an agent without a grant, and after a revocation → artifact_not_found",
  async ({ planner, builder, stranger }) => {
    const artifact = await publish(planner);
    await grant(planner, artifact, { to: builder });
    await using owner = await connect("agent-artifacts", planner);
    for (const [agent, revoked] of [[stranger, 0], [builder, 1]] as const) {
      const revocation = { ...idOf(artifact), to_agent: agent.id };
      assert.equal((await owner.succeed("revoke", revocation))["revoked"], revoked);
      await using client = await connect("agent-artifacts", agent);
      for (const inline of [false, true]) {
        const refused = await client.call("get", { ...idOf(artifact), inline });
        assertToolError(refused, "artifact_not_found");
      }
    }
  },
);

artifactTest(
  "commit with `to`, twice → one live grant to each, for as long as the artifact lives",
  async ({ planner, builder, stranger }) => {
    await using client = await connect("agent-artifacts", planner);
    const pending = await client.succeed<Pending>("put", { key: "k", size: 5 });
    assert.equal(await upload(urlIn(pending.command), "hello"), 200);
    const to = [builder.id, stranger.id];
    const given = { ...idOf(pending), sha256: sha256("hello"), to };
    const committed = await client.succeed("commit", given);
    assert.deepEqual(committed, { ...await client.succeed("commit", given) });
    assert.deepEqual(Object.keys(committed), ["state", "expires_at", "granted_to"]);
    assert.deepEqual(committed["granted_to"], to);
    for (const agent of [builder, stranger]) {
      await using reader = await connect("agent-artifacts", agent);
      const { grants } = await reader.succeed<{ grants: object[] }>("inbox");
      assert.deepEqual(grants, [{
        ...idOf(pending),
        from_agent: planner.id,
        key: "k",
        mime: "application/octet-stream",
        size: 5,
        version: 1,
        expires_at: committed["expires_at"],
      }]);
    }
    await deleteArtifact(planner, pending);
  },
);

artifactTest(
  "commit with `to` of another agent's file, of a wrong digest, of what is no agent → the error, and nobody is granted anything",
  async ({ planner, builder, stranger }) => {
    await using client = await connect("agent-artifacts", planner);
    const pending = await client.succeed<Pending>("put", { key: "k", size: 5 });
    assert.equal(await upload(urlIn(pending.command), "hello"), 200);
    const given = { ...idOf(pending), sha256: sha256("hello"), to: [stranger.id] };
    await using other = await connect("agent-artifacts", builder);
    await leavesUnchanged([planner, builder, stranger], async () => {
      assertToolError(await other.call("commit", given), "artifact_not_found");
      for (const to of [["?"], stranger.id, Array(11).fill(stranger.id)]) {
        assertToolError(await client.call("commit", { ...given, to }), "invalid_request");
      }
      const wrong = { ...given, sha256: sha256("other") };
      assertToolError(await client.call("commit", wrong), "checksum_mismatch");
    });
    await deleteArtifact(planner, pending);
  },
);

function idOf({ artifact_id }: { readonly artifact_id: string }) {
  return { artifact_id };
}
