import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import type { Path } from '../model/json-object.ts';
import { ConfigurationError, errorCode } from '../model/storeferry-error.ts';
import { looksSecret } from '../text/mask-personal-data.ts';

/** The source of settings and secrets: the variables of the process, then the workspace's `.env`, then files that the process names. */
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

function readSecretFile(dir: string, variable: string, path: string): string {
  try {
    return readFileSync(resolve(dir, path), 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    const message = `${variable} names the file ${path}, which cannot be read (${errorCode(error)}); correct the path, or give this user read access`;
    throw new ConfigurationError([{ place: { file: 'environment' }, message }], { cause: error });
  }
}

/**
 * The environment of a workspace. Variables of the process have priority over `.env`, even empty ones, so that what it
 * sets can be switched off for one command. ConfigurationError if `.env` exists but cannot be read.
 */
export function loadEnvironment(dir: string, variables: Variables) {
  const dotEnv = readDotEnv(dir);
  const own = (source: Variables, name: string) => (Object.hasOwn(source, name) ? source[name] : undefined);
  const fromFiles = new Map<string, string>();
  /** Only the process names files: `.env` is also written by visitors of the dashboard, who must not read other files. */
  const fromFile = (name: string): string | undefined => {
    const path = own(variables, `${name}_FILE`);
    if (path === undefined || path === '') return undefined;
    const value = fromFiles.get(name) ?? readSecretFile(dir, `${name}_FILE`, path);
    fromFiles.set(name, value);
    return value;
  };
  return {
    /**
     * The value; undefined when there is none. Where it is unset or empty, it is the content of the file that `NAME_FILE` names,
     * without its last line break; ConfigurationError if that cannot be read.
     */
    get(name: string): string | undefined {
      return (own(variables, name) ?? own(dotEnv, name)) || fromFile(name) || undefined;
    },
    /** Whether a variable has a value, and has it from `.env`. */
    isInDotEnv: (name: string): boolean =>
      own(variables, name) === undefined && (own(dotEnv, name) ?? '') !== '',
    /** The variables in `.env` that have another value in the environment, which is used instead. */
    overridden: (): readonly string[] =>
      Object.keys(dotEnv)
        .filter((name) => (variables[name] ?? dotEnv[name]) !== dotEnv[name])
        .sort(),
    /** The values in `.env` that are secrets according to their names, even if unused; and those read from other files. */
    secretsInFiles: (): readonly string[] =>
      [
        ...Object.entries(dotEnv).flatMap(([name, value = '']) => (looksSecret(name) ? [value] : [])),
        ...fromFiles.values(),
      ].filter(({ length }) => length >= MIN_SECRET_LENGTH),
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
