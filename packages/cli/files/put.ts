import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { lookup } from "mrmime";
import type { AgentFiles } from "../../agent-files/agent_files.ts";
import type { ShareOptions } from "../../agent-files/transfer/sharing.ts";
import { packFolder } from "../../agent-files/folders/pack.ts";
import {
  type LeftOut,
  PACKED_FOLDER,
  type PackedEntry,
  type WalkOptions,
} from "../../agent-files/folders/packed.ts";
import type { PutOptions } from "../../agent-files/transfer/put.ts";
import { assertAllNames } from "../../agent-files/transfer/names.ts";
import type { Source } from "../../agent-files/transfer/source.ts";
import { defineVerb, type Verb } from "../verb.ts";
import type { Context } from "../context.ts";
import { UsageError } from "../../command/usage_error.ts";
import {
  daysOf,
  HAND_OVER_OPTIONS,
  handOverOf,
  SHARING_OPTIONS,
  sharingOf,
  TO_TAG_OPTION,
} from "../sharing/options.ts";
import { tellUnknown } from "../sharing/unknown.ts";
import { keepInput } from "./standard_input.ts";
import { numberOf } from "../number_option.ts";
import { inBytes, note, plain } from "../../command/terminal/output.ts";
import { ProgressBar } from "../terminal/progress_bar.ts";

const STANDARD_INPUT = "-";

export const put: Verb = defineVerb({
  summary: "Upload files, and give other agents access.",
  positionals: {
    usage: "FILE…",
    least: 1,
    wrong: "Name at least one file.",
    completes: "file",
  },
  example: "agentfiles put house.txt --key plans/house.txt --to builder --note 'Build it.'\n" +
    "agentfiles put drawings/ --to builder   # `get` makes a folder of it\n" +
    "make report | agentfiles put - --key report.txt",
  options: {
    key: {
      type: "string",
      value: "KEY",
      help: "the file's name in the service; if it ends in /, a prefix for the file's own name",
    },
    to: {
      type: "string",
      multiple: true,
      value: "AGENT",
      help: "an agent that gets access; can be repeated",
    },
    "to-tag": TO_TAG_OPTION,
    ...HAND_OVER_OPTIONS,
    meta: {
      type: "string",
      multiple: true,
      value: "NAME=TEXT",
      help: "a text that is shown with the file, under this name; can be repeated",
    },
    keep: {
      type: "string",
      value: "N",
      help: "how many earlier versions of the file to keep, if nobody else may open them; " +
        "default: all",
    },
    ttl: {
      type: "string",
      value: "DAYS",
      help: "how many days the file lasts; default: 7",
    },
    mime: {
      type: "string",
      value: "TYPE",
      help: "the media type; default: by the file extension",
    },
    exclude: {
      type: "string",
      multiple: true,
      value: "PATTERN",
      help: "do not send what matches in a folder, such as '.*' or node_modules/, as in a " +
        ".gitignore; can be repeated",
    },
    gitignore: {
      type: "boolean",
      help: "of a folder, do not send .git nor what its .gitignore files and those around it list",
    },
    "skip-special": {
      type: "boolean",
      help: "succeed even if a folder has what cannot be sent, such as links and fifos",
    },
    link: {
      type: "boolean",
      help: "also make a link with which a person can download it",
    },
    "max-downloads": {
      ...SHARING_OPTIONS["max-downloads"],
      help: "how many downloads the link allows; default: any number",
    },
  },
  async run({ positionals: paths, values }, context) {
    if (
      paths.length > 1 && values.key !== undefined && !values.key.endsWith("/")
    ) {
      throw new UsageError(
        "For several files, --key must be a prefix that ends in /.",
      );
    }
    const { link = false, "max-downloads": downloads } = values;
    if (downloads !== undefined && !link) {
      throw new UsageError("--max-downloads needs --link.");
    }
    const sharing = link ? sharingOf({ "max-downloads": downloads }) : undefined;
    const ttlDays = values.ttl === undefined ? {} : { ttlDays: daysOf(values.ttl, "--ttl") };
    const keepVersions = numberOf(values.keep, { option: "--keep", least: 1, most: 1000 });
    const options: PutOptions = {
      ...handOverOf(values),
      ...ttlDays,
      ...(values.meta !== undefined && { metadata: metadataOf(values.meta) }),
      ...(keepVersions !== undefined && { keepVersions }),
    };
    const named = await Promise.all(
      paths.map((path) => nameOf(path, values.key)),
    );
    // Check all names before the first byte is sent: a wrong name must not leave half of the files
    // sent.
    const { to, "to-tag": toTags } = values;
    assertAllNames({
      keys: named.map(({ path, key }) => [path, key]),
      to,
      toTags,
    });
    const { exclude, gitignore } = values;
    if ((exclude || gitignore) && !named.some(({ kind }) => kind === "folder")) {
      throw new UsageError("--exclude and --gitignore are for folders.");
    }
    const files = await context.files();
    const leftOut: LeftOut[] = [];
    for (const one of named) {
      await using upload = await prepare(one, { exclude, gitignore }, context.signal);
      leftOut.push(...upload.leftOut ?? []);
      // Before they are sent: there is time for Ctrl-C.
      if (!context.output.json) tellHidden(upload.hidden ?? []);
      await send(
        files,
        upload,
        { to, toTags, mime: values.mime, options, sharing },
        context,
      );
    }
    tellLeftOut(leftOut, values["skip-special"] === true);
  },
});

/** The texts of `--meta`, by name. Throws UsageError. */
function metadataOf(pairs: readonly string[]): Record<string, string> {
  const named = pairs.map((pair) => {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`--meta takes NAME=TEXT, and not ${plain(pair)}.`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return Object.fromEntries(named);
}

/** Lists the entries that were left out of the archives. Throws unless the user accepted that. */
function tellLeftOut(leftOut: readonly LeftOut[], isAccepted: boolean): void {
  if (leftOut.length === 0) return;
  const lines = leftOut.map(({ name, kind }) => `\n  ${plain(name)} (${kind})`)
    .join("");
  if (isAccepted) return note(`Left out:${lines}`);
  throw new Error(
    `Sent without these. With --skip-special, that is no error.${lines}`,
  );
}

const MOST_NAMED = 5;

/** One line that says which hidden files are sent: few people mean `.git` or `.env`. */
function tellHidden(hidden: readonly string[]): void {
  if (hidden.length === 0) return;
  const more = hidden.length - MOST_NAMED;
  const names = hidden.slice(0, MOST_NAMED).map(plain).join(", ") +
    (more > 0 ? `, ${more} more` : "");
  note(`Hidden files are sent, too: ${names}. To leave them out: --exclude '.*'`);
}

interface Upload extends AsyncDisposable {
  readonly key: string;
  readonly source: Source;
  /** The entries of a packed folder. */
  readonly entries?: readonly PackedEntry[];
  /** The folder's entries that were left out of its archive. */
  readonly leftOut?: readonly LeftOut[];
  /** The folder's entries whose name begins with a dot. */
  readonly hidden?: readonly string[];
  /** The media type of a packed folder. */
  readonly mime?: string;
}

const nothingToRemove = { [Symbol.asyncDispose]: () => Promise.resolve() };

/** A path to upload, and the key for it. */
interface NamedPath {
  readonly path: string;
  readonly key: string;
  readonly kind: "input" | "folder" | "file";
}

/** Throws UsageError if standard input has no key, and file system errors. */
async function nameOf(
  path: string,
  key: string | undefined,
): Promise<NamedPath> {
  if (path === STANDARD_INPUT) {
    if (key === undefined || key.endsWith("/")) {
      throw new UsageError("Standard input needs a --key.");
    }
    return { path, key, kind: "input" };
  }
  const state = await stat(path);
  const isFolder = state.isDirectory();
  if (!isFolder && !state.isFile()) {
    throw new UsageError(
      `${plain(path)} is a pipe or a device. Send what it gives as standard input: ` +
        "agentfiles put - --key NAME",
    );
  }
  const name = basename(resolve(path)) + (isFolder ? ".tar" : "");
  const itsKey = key === undefined ? name : key.endsWith("/") ? key + name : key;
  return { path, key: itsKey, kind: isFolder ? "folder" : "file" };
}

async function prepare(
  { path, key, kind }: NamedPath,
  options: WalkOptions,
  signal: AbortSignal,
): Promise<Upload> {
  if (kind === "input") return { key, ...await keepInput(signal) };
  return kind === "folder"
    ? {
      key,
      mime: PACKED_FOLDER,
      ...await packFolder(path, options),
      ...nothingToRemove,
    }
    : { key, source: { path }, ...nothingToRemove };
}

async function send(
  files: AgentFiles,
  { key, source, entries, leftOut, hidden, ...its }: Upload,
  { to = [], toTags = [], mime, options, sharing }: {
    readonly to?: string[] | undefined;
    readonly toTags?: string[] | undefined;
    readonly mime?: string | undefined;
    readonly options: PutOptions;
    /** The limits of the link; undefined if no link is to be made. */
    readonly sharing: ShareOptions | undefined;
  },
  { output }: Context,
): Promise<void> {
  using bar = new ProgressBar(key, output);
  const artifact = await files.put(key, source, {
    ...options,
    to,
    toTags,
    mime: mime ?? its.mime ?? lookup(key) ?? "application/octet-stream",
    onProgress: bar.show,
  });
  bar[Symbol.dispose]();
  tellUnknown(artifact.grants);
  const link = sharing &&
    (await files.link({ artifactId: artifact.artifact_id }, sharing)).url;
  // A token gives access, so only `agentfiles share --show-token` shows it.
  const grants = artifact.grants.map(({ token: _, ...grant }) => grant);
  const shown = {
    ...artifact,
    grants,
    ...(entries && { entries }),
    ...(leftOut && { left_out: leftOut }),
    ...(hidden && { hidden }),
    ...(link && { link }),
  };
  await output.value(shown, (done) => {
    const grantees = [...to, ...toTags];
    const shared = grantees.length === 0 ? "" : `  for ${grantees.map(plain).join(", ")}`;
    const linked = link === undefined ? "" : `\n${link}`;
    return `${done.artifact_id}  ${plain(done.key)}  ${inBytes(done.size)}${shared}${linked}`;
  });
}
