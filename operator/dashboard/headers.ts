import type { MiddlewareHandler } from "hono";
import { NONCE, secureHeaders } from "hono/secure-headers";

/** Nothing is loaded from elsewhere, and what agents wrote cannot become script. */
export const SECURE_HEADERS: MiddlewareHandler = secureHeaders({
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: [NONCE],
    styleSrc: ["'self'"],
    imgSrc: ["'self'"],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'self'"],
    frameAncestors: ["'none'"],
    requireTrustedTypesFor: ["'script'"],
    trustedTypes: ["'none'"],
  },
  crossOriginResourcePolicy: "same-origin",
  crossOriginOpenerPolicy: "same-origin",
  // Not no-referrer, with which browsers send `Origin: null` with the forms of this page, too.
  referrerPolicy: "same-origin",
  xFrameOptions: "DENY",
  // It speaks of hosts that are reached by https.
  strictTransportSecurity: false,
});

/** What is shown must not be in anybody's cache: pages tell secrets of the project, or keys. */
export const NO_STORE: MiddlewareHandler = async (context, next) => {
  await next();
  context.header("cache-control", "no-store");
};
