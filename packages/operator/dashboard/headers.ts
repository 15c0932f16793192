import type { MiddlewareHandler } from "hono";
import { NONCE, secureHeaders } from "hono/secure-headers";

/** Pages load nothing from elsewhere, and what agents wrote cannot run as a script. */
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
  // Not `no-referrer`: browsers would then send `Origin: null` with this page's own forms.
  referrerPolicy: "same-origin",
  xFrameOptions: "DENY",
  // HSTS concerns only hosts that are reached by HTTPS.
  strictTransportSecurity: false,
});

/** No cache may keep the pages: they show secrets of the project and agent keys. */
export const NO_STORE: MiddlewareHandler = async (context, next) => {
  await next();
  context.header("cache-control", "no-store");
};
