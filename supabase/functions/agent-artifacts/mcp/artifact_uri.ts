const BY_ID = /^artifact:\/\/(art_[0-9a-f]{32})$/;
const BY_KEY = /^artifact:\/\/([^/]+)\/(.+)$/;

/** The forms of an artifact's URI: by id for a fixed content, by key for the current artifact. */
export const URI_TEMPLATES = {
  byId: "artifact://{artifact_id}",
  byKey: "artifact://{agent_id}/{+key}",
};

/** The URI of an artifact by its id. */
export function artifactUri(artifactId: string): string {
  return `artifact://${artifactId}`;
}

/** The request to /open for a URI; null if the URI does not name an artifact. */
export function openRequestOf(uri: string): object | null {
  const [, artifact_id] = BY_ID.exec(uri) ?? [];
  if (artifact_id !== undefined) return { artifact_id };
  const [, agent_id, key] = (BY_KEY.exec(uri) ?? []).map(decoded);
  return agent_id == null || key == null ? null : { agent_id, key };
}

/** Null if a percent sign does not begin an encoded character. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
