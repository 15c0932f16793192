const BY_ID = /^artifact:\/\/(art_[0-9a-f]{32})$/;
const BY_KEY = /^artifact:\/\/([^/]+)\/(.+)$/;

/** The two forms of an artifact's URI: of one content, and of what a key names now. */
export const URI_TEMPLATES = {
  byId: "artifact://{artifact_id}",
  byKey: "artifact://{agent_id}/{+key}",
};

/** The URI of one content. */
export function artifactUri(artifactId: string): string {
  return `artifact://${artifactId}`;
}

/** What /open takes for a URI; null if it does not name an artifact. */
export function openRequestOf(uri: string): object | null {
  const [, artifact_id] = BY_ID.exec(uri) ?? [];
  if (artifact_id !== undefined) return { artifact_id };
  const [, agent_id, key] = (BY_KEY.exec(uri) ?? []).map(decoded);
  return agent_id == null || key == null ? null : { agent_id, key };
}

/** Null where a percent sign does not begin an encoded character. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
