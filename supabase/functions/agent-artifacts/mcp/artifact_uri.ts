const ARTIFACT_URI = /^artifact:\/\/(art_[0-9a-f]{32})$/;

/** The URI of an artifact, as MCP clients read it. */
export function artifactUri(artifactId: string): string {
  return `artifact://${artifactId}`;
}

/** The artifact_id in a URI; null where it is none of an artifact. */
export function artifactIdOf(uri: string): string | null {
  return ARTIFACT_URI.exec(uri)?.[1] ?? null;
}
