import type { PlatformSettings } from "../settings/platform.ts";

/**
 * The origin at which callers reach this project, for upload and download URLs: PUBLIC_SUPABASE_URL
 * if the operator has set it, else SUPABASE_URL. If SUPABASE_URL has a name that only containers
 * know (`http://kong:8000` under `supabase start`), it is the origin that the request was sent to,
 * as the gateway reports it.
 */
export function publicOrigin(request: Request, settings: PlatformSettings): string {
  if (settings.publicSupabaseUrl !== null) return settings.publicSupabaseUrl;
  const { hostname } = new URL(settings.supabaseUrl);
  const isContainerName = !hostname.includes(".") && !hostname.includes(":") &&
    hostname !== "localhost";
  if (!isContainerName) return settings.supabaseUrl;
  return forwardedOrigin(request.headers) ?? settings.supabaseUrl;
}

/** The origin that a request came to, as the gateway reports it; null if it does not. */
export function forwardedOrigin(headers: Headers): string | null {
  const host = first(headers.get("x-forwarded-host")) ?? headers.get("host");
  if (host === null) return null;
  const protocol = first(headers.get("x-forwarded-proto")) ?? "http";
  const port = first(headers.get("x-forwarded-port"));
  const hostHasPort = /:\d+$/.test(host);
  const authority = hostHasPort || port === null ? host : `${host}:${port}`;
  const url = URL.parse(`${protocol}://${authority}`);
  return url !== null && /^https?:$/.test(url.protocol) ? url.origin : null;
}

/** Proxies append to these headers: the first entry is the one nearest to the caller. */
function first(value: string | null): string | null {
  return value?.split(",")[0]?.trim() || null;
}

/** `url`, a URL of this project, as callers can reach it. */
export function publicUrl(url: URL, request: Request, settings: PlatformSettings): string {
  return publicOrigin(request, settings) + url.href.slice(url.origin.length);
}
