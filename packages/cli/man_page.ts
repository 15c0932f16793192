import type { Described } from "../command/command.ts";
import { optionsOf, optionWithValue, usageOf } from "../command/help.ts";
import { EXIT_CODES, NAME, NOTES, SUMMARY } from "./help.ts";

/** The manual page in the format of man(7), made from the help texts of all verbs. */
export function manPage(
  verbs: Readonly<Record<string, Described>>,
  version: string,
): string {
  return [
    `.TH ${NAME.toUpperCase()} 1 "" "agent-files ${version}" "User Commands"`,
    ".SH NAME",
    `${NAME} \\- ${text(SUMMARY.slice(NAME.length + 1).replace(/\.$/, ""))}`,
    ".SH SYNOPSIS",
    `.B ${NAME}`,
    ".I verb",
    "\\&...",
    ".SH DESCRIPTION",
    NOTES.map(text).join("\n.PP\n"),
    ".SH VERBS",
    ...Object.entries(verbs).flatMap(([verb, command]) => sectionOf(`${NAME} ${verb}`, command)),
    ".SH ENVIRONMENT",
    ...termsOf([
      ["AGENT_URL", "the project's origin, instead of the stored one"],
      ["AGENT_KEY", "the agent key, instead of the stored one"],
      [
        "AGENT_ID",
        "the agent's identifier, if the credential does not tell it",
      ],
      ["XDG_CONFIG_HOME", "the folder for settings; default: ~/.config"],
    ]),
    ".SH FILES",
    ...termsOf([[
      "~/.config/agentfiles/login.json",
      "what `agentfiles login` stores",
    ]]),
    ".SH EXIT STATUS",
    ...termsOf(EXIT_CODES),
    "",
  ].join("\n");
}

function sectionOf(name: string, command: Described): string[] {
  return [
    `.SS ${text(usageOf(name, command))}`,
    text(command.summary),
    ...(command.parts === undefined
      ? termsOf(
        optionsOf(command).filter(([option]) => !["json", "help"].includes(option))
          .map((
            [option, declared],
          ) => [optionWithValue(option, declared), declared.help]),
      )
      : []),
    ".PP",
    command.example.includes("\n") ? "Examples:" : "Example:",
    ".PP",
    ".nf",
    ".RS 4",
    ...command.example.split("\n").map(text),
    ".RE",
    ".fi",
    ...Object.entries(command.parts ?? {})
      .flatMap(([part, described]) => sectionOf(`${name} ${part}`, described)),
  ];
}

function termsOf(
  terms: readonly (readonly [term: string, meaning: string])[],
): string[] {
  return terms.flatMap((
    [term, meaning],
  ) => [".TP", `.B ${text(term)}`, text(meaning)]);
}

/** Escapes text for roff. A dash becomes `\-`, so that a command copied from the page works. */
function text(plain: string): string {
  const escaped = plain.replaceAll("\\", "\\e").replaceAll("-", "\\-")
    .replaceAll("…", "...");
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}
