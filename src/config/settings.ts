import { readFileSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { z } from 'zod';
import { optional, type Path, withoutAbsent } from '../model/json-object.ts';
import { type ArtifactsPlace, parseRedisUrl, REDIS_PREFIX, redisUrlWith } from '../model/remote-address.ts';
import { ConfigurationError, errorCode } from '../model/storeferry-error.ts';
import { completeS3Place } from '../remote/remote-kinds.ts';
import { looksSecret } from '../text/mask-personal-data.ts';
import { expectation, explainIssues } from './explain-issues.ts';

/** The source of settings and secrets: the variables of the process, then the workspace's `.env`, then files that the process names. */
export type Environment = ReturnType<typeof loadEnvironment>;

/** A shorter value of a variable that is only called like a secret may be a setting such as `true`, which ordinary messages have. */
const MIN_GUESSED_LENGTH = 8;

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

function readSecretFile(dir: string, variable: string, path: string) {
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
  const fromFile = (name: string) => {
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
    isInDotEnv: (name: string) => own(variables, name) === undefined && (own(dotEnv, name) ?? '') !== '',
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
      ].filter(({ length }) => length >= MIN_GUESSED_LENGTH),
  };
}

/** What a person must know of a variable that `.env` and the environment set to different values. */
export function overriddenText(name: string): string {
  return `${name} has another value in the environment, which has priority over .env: that one is used. Unset it there, or correct .env`;
}

/** A secret field. */
export interface SecretField {
  readonly path: Path;
  /** What happens to a value that does not come from the environment. */
  readonly literal: 'refused' | 'allowed';
  /** A proposed name for the variable. */
  readonly variable?: string;
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** What `ARTIFACTS_URL` may be. */
const ARTIFACTS_EXPECTED = 'expected a folder or s3://bucket/prefix';

/** Variables that are settings of the whole workspace, not values of its files. */
export const settingsSchema = z.object({
  REDIS_URL: optional(
    z.string().refine((url) => parseRedisUrl(url) !== undefined, 'expected redis://… or rediss://…'),
    'The Redis server of the shared state. Unset: the state is in SQLite under `.storeferry/`. For a Redis Cluster, any node, or several separated by commas: `redis://10.0.0.1:6379,10.0.0.2:6379`.',
  ),
  REDIS_PREFIX: optional(
    z.string().regex(REDIS_PREFIX, "expected at most 40 letters, digits, '_' and '-'"),
    'The beginning of all keys in Redis; default: `storeferry`. Workspaces with different ones can share a Redis.',
  ),
  REDIS_CA: optional(
    z.string(),
    'With `rediss://`: a file in PEM format with the certificates to trust in place of the usual ones, such as that of a private CA.',
  ),
  ARTIFACTS_URL: z
    .string()
    .refine(isArtifactsUrl, ARTIFACTS_EXPECTED)
    .default('.storeferry/artifacts')
    .describe(
      'Where the files of runs are: a folder that all workers share, or `s3://bucket/prefix`, reached with `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`, `AWS_REGION` and `AWS_ENDPOINT_URL`.',
    ),
  STOREFERRY_ALLOW: optional(
    z
      .string()
      .refine(
        (folders) => foldersIn(folders).every((folder) => isAbsolute(folder)),
        'expected absolute paths of folders',
      ),
    'Folders outside the workspace that symbolic links in it may lead to, separated by colons (Windows: semicolons): `/data/feeds:/mnt/exports`.',
  ),
  EVENTS_SECRET: optional(
    z.string().min(16, 'expected at least 16 characters, such as of `openssl rand -hex 32`'),
    'With `worker --listen`: what a webhook of the store sends as `secret`, to run an export. Unset: none is received.',
  ),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info').describe('What is logged to standard error.'),
});

/** Reads the settings of the workspace as a whole. ConfigurationError names the invalid variables, without their values. */
export function readSettings(environment: Pick<Environment, 'get'>, dir: string) {
  const names = Object.keys(settingsSchema.shape);
  const given = names.flatMap((name) => {
    const value = environment.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const variables = Object.fromEntries(given);
  const parsed = settingsSchema.safeParse(variables, { error: expectation });
  if (!parsed.success) {
    throw environmentError(
      explainIssues(parsed.error.issues, variables).map(
        ({ path, message, hint = '' }) => `${path.map(String).join('.')}: ${message}${hint}`,
      ),
    );
  }
  const {
    REDIS_URL,
    REDIS_PREFIX: prefix,
    REDIS_CA,
    ARTIFACTS_URL,
    STOREFERRY_ALLOW,
    EVENTS_SECRET,
    LOG_LEVEL,
  } = parsed.data;
  const artifacts = chooseArtifacts(ARTIFACTS_URL, dir, environment);
  if ('problems' in artifacts) throw environmentError(artifacts.problems);
  const { password = '' } = (REDIS_URL !== undefined && parseRedisUrl(REDIS_URL)) || {};
  return {
    redisUrl:
      REDIS_URL &&
      redisUrlWith(REDIS_URL, {
        ...(prefix !== undefined && { prefix }),
        ...(REDIS_CA !== undefined && { ca: resolve(dir, REDIS_CA) }),
      }),
    artifacts: artifacts.place,
    /** Absolute paths of folders outside the workspace that links may lead to. */
    allowedFolders: foldersIn(STOREFERRY_ALLOW ?? ''),
    logLevel: LOG_LEVEL,
    /** What events of stores are received with; undefined: none are. */
    eventsSecret: EVENTS_SECRET,
    /** The secret values, which are redacted everywhere. */
    secrets: withoutAbsent([password !== '' && password, EVENTS_SECRET, ...artifacts.secrets]),
  };
}

function foldersIn(list: string) {
  return list.split(delimiter).filter((folder) => folder !== '');
}

function environmentError(messages: readonly string[]) {
  return new ConfigurationError(messages.map((message) => ({ place: { file: 'environment' }, message })));
}

/** The place, with its secrets; or the problems, each a sentence that begins with its variable. */
type ArtifactsChoice =
  | { readonly place: ArtifactsPlace; readonly secrets: readonly string[] }
  | { readonly problems: readonly string[] };

/**
 * The place of a valid `ARTIFACTS_URL`; paths are relative to the workspace. The `AWS_…` variables give access to
 * buckets. Private networks are allowed, because only the operator of the process sets these variables.
 */
function chooseArtifacts(url: string, dir: string, environment: Pick<Environment, 'get'>): ArtifactsChoice {
  const [, bucket, prefix = ''] = S3.exec(url) ?? [];
  if (bucket === undefined) {
    const path = (url.startsWith('file:') ? pathOf(url) : undefined) ?? url;
    return { place: { kind: 'folder', path: isAbsolute(path) ? path : resolve(dir, path) }, secrets: [] };
  }
  const completed = completeS3Place({}, (name) => environment.get(name));
  if ('problem' in completed) return { problems: [completed.problem] };
  if (completed.unset.length > 0) {
    const problems = completed.unset.map(
      (name) => `${name}: not set, and ARTIFACTS_URL needs it; set it in the environment or in .env`,
    );
    return { problems };
  }
  const { place, secrets } = completed;
  return { place: { kind: 's3', bucket, prefix, allowPrivateAddresses: true, ...place }, secrets };
}

/** The name of a bucket. */
const BUCKET = '[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]';

/** Folders in it, of which none is `.` or `..`. */
const PREFIX = String.raw`(?:(?!\.+(?:/|$))[\w.-]+/)*(?!\.+/?$)[\w.-]+`;

const S3 = new RegExp(`^s3://(${BUCKET})(?:/(${PREFIX})?/?)?$`);

/** Whether it names a folder, as a path or `file:` address, or a bucket with or without a prefix. */
function isArtifactsUrl(url: string) {
  if (!/^[a-z][a-z0-9+.-]+:/i.test(url)) return true;
  return url.startsWith('file:') ? pathOf(url) !== undefined : S3.test(url);
}

function pathOf(url: string) {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}
