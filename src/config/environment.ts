import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { ConfigurationError, errorCode } from '../model/storeferry-error.ts';
import { looksSecret } from '../text/masked.ts';
import type { Path } from './value-at.ts';

/** The source of settings and secrets: the variables of the process, then the workspace's `.env`. */
export type Environment = ReturnType<typeof loadEnvironment>;

/** Shorter values are settings, such as `true`, which redaction would remove from ordinary messages. */
const MIN_SECRET_LENGTH = 8;

type Variables = Readonly<Record<string, string | undefined>>;

function readDotEnv(dir: string): Variables {
  try {
    return parseEnv(readFileSync(join(dir, '.env'), 'utf8').replace(/^\uFEFF/, ''));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return {};
    const message = 'the file cannot be read; give this user read access, or remove the file';
    throw new ConfigurationError([{ place: { file: '.env' }, message }], { cause: error });
  }
}

/**
 * The environment of a workspace. Variables of the process have priority over `.env`, even empty ones, so that a
 * setting can be switched off for one command. ConfigurationError if `.env` exists but cannot be read.
 */
export function loadEnvironment(dir: string, variables: Variables) {
  const dotEnv = readDotEnv(dir);
  return {
    /** The value; undefined when unset or empty. */
    get(name: string): string | undefined {
      const source = Object.hasOwn(variables, name) && variables[name] !== undefined ? variables : dotEnv;
      const value = Object.hasOwn(source, name) ? source[name] : undefined;
      return value === '' ? undefined : value;
    },
    /** The variables in `.env` that have another value in the environment, which is used instead. */
    overridden: (): readonly string[] =>
      Object.keys(dotEnv)
        .filter((name) => (variables[name] ?? dotEnv[name]) !== dotEnv[name])
        .sort(),
    /** The values in `.env` that are secrets according to their names, even if unused. */
    secretsInFile: (): readonly string[] =>
      Object.entries(dotEnv).flatMap(([name, value = '']) =>
        looksSecret(name) && value.length >= MIN_SECRET_LENGTH ? [value] : [],
      ),
  };
}

/** What a person must know of a variable that `.env` and the environment set to different values. */
export function overriddenText(name: string): string {
  return `${name} has another value in the environment, which has priority over .env: that one is used. Unset it there, or correct .env`;
}

/** A secret field; `refused`: the value did not come from the environment. */
export interface SecretField {
  readonly path: Path;
  readonly literal: 'refused' | 'allowed';
  /** A proposed name for the variable. */
  readonly variable?: string;
}
