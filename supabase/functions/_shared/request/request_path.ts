/**
 * The path of a request as it was sent. Hono would decode it first, so that `/%6cist` were `/list`;
 * and its router would take `/list/` for `/list`, which the second slash keeps it from.
 */
export function requestPath({ url }: Request): string {
  const start = url.indexOf("/", url.indexOf(":") + "://".length);
  const end = url.slice(start).search(/[?#]/);
  const path = end === -1 ? url.slice(start) : url.slice(start, start + end);
  return path.endsWith("/") ? `${path}/` : path;
}
