/** Who opens a link: a person in a browser, a program, or a robot that makes a preview. */
import { parseAccept } from "hono/utils/accept";

/**
 * The names of the robots that chat and mail programs send when somebody posts a link. Each is
 * specific enough that no agent's own program has it; `bot` alone is not.
 */
const PREVIEWERS = new RegExp(
  [
    "Applebot",
    "BingPreview",
    "Bluesky Cardyb",
    "Discordbot",
    "Embedly",
    "facebookexternalhit", // also Messages on Apple's systems
    "Facebot",
    "Google-PageRenderer",
    "Google-Read-Aloud",
    "GoogleMessages",
    "Iframely",
    "LinkedInBot",
    "Mastodon/",
    "Mattermost-Bot",
    "meta-externalfetcher",
    "OpenGraph\\.io",
    "Pinterestbot",
    "redditbot",
    "RocketChat|Rocket\\.Chat",
    "SkypeUriPreview", // Teams
    "Slackbot",
    "Slack-ImgProxy",
    "Snap URL Preview",
    "Synapse", // Matrix
    "TelegramBot",
    "Twitterbot",
    "Viber",
    "vkShare",
    "WhatsApp/",
    "Yahoo Link Preview",
    "ZulipURLPreview",
  ].join("|"),
  "i",
);

/** The headers of a browser that fetches a page before anybody asks for it, the newest first. */
const PREFETCHING = ["sec-purpose", "purpose", "x-purpose", "x-moz"];

/** Whether no person sees the answer: it is for a preview, or fetched before somebody asks. */
export function isPreview(headers: Headers): boolean {
  return PREVIEWERS.test(headers.get("user-agent") ?? "") ||
    PREFETCHING.some((name) => /prefetch|preview|prerender/i.test(headers.get(name) ?? ""));
}

/** Whether HTML is more welcome than JSON (RFC 9110, section 12.5.1). */
export function prefersHtml(headers: Headers): boolean {
  const ranges = parseAccept((headers.get("accept") ?? "").toLowerCase());
  const quality = (type: string): number => {
    const [kind] = type.split("/");
    // The most specific range that matches decides.
    const matching = [type, `${kind}/*`, "*/*"].map((range) =>
      ranges.find((given) => given.type === range)
    );
    return matching.find((range) => range !== undefined)?.q ?? 0;
  };
  return quality("text/html") > quality("application/json");
}
