/** Versions in histories written by hand. Each is called by its name: `one` is version 1. */
import type { JsonObject } from "../../../conformance/client.ts";
import type { Entry } from "../../history.ts";
import { artifacts } from "../written_history.ts";

type Times = readonly [start: number, end: number];

/** The artifact of a version of ann's `k`, as answers show it. */
export function versionObject(name: string, version: number): JsonObject {
  return {
    artifact_id: name,
    agent_id: "ann",
    key: "k",
    version,
    sha256: `digest of ${name}`,
  };
}

/** ann registers and commits a version, within 4 ms from `start`. */
export function written(
  start: number,
  name: string,
  version: number,
  fields: JsonObject = {},
): [Entry, Entry] {
  const registered = artifacts([start, start + 1], ["ann", "/register"], {
    request: { key: "k", ...fields },
    answer: { artifact_id: name, key: "k" },
  });
  return [registered, committed([start + 2, start + 4], name, version)];
}

export function committed(
  at: Times,
  name: string,
  version: number,
  answer: JsonObject = {},
): Entry {
  return artifacts(at, ["ann", "/commit"], {
    request: { artifact_id: name, sha256: `digest of ${name}` },
    answer: { ...versionObject(name, version), ...answer },
  });
}

/** A list of the versions of ann's `k`, newest first. */
export function versionList(at: Times, agent: string, ...shown: [string, number][]): Entry {
  const versions = shown.map(([name, version]) => versionObject(name, version));
  return artifacts(at, [agent, "/versions"], {
    request: { agent_id: "ann", key: "k" },
    answer: { versions, next_cursor: null },
  });
}

export function openVersion(
  at: Times,
  agent: string,
  version: number | null,
  { answer = {}, status = 200 }: { readonly answer?: JsonObject; readonly status?: number },
): Entry {
  const request = { agent_id: "ann", key: "k", ...(version === null ? {} : { version }) };
  return artifacts(at, [agent, "/open"], { request, answer, status });
}
