import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { ConfigurationError } from '../model/errors.ts';
import type { Environment } from './environment.ts';
import { expectation } from './expectation.ts';
import { explainIssues } from './explain-issues.ts';

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const ARTIFACTS_EXPECTED = 'expected a folder or s3://bucket/prefix';

/** Variables that are settings of the whole workspace, not values of its files. */
export const settingsSchema = z.object({
  REDIS_URL: z
    .string()
    .refine(
      (url) => URL.canParse(url) && /^rediss?:$/.test(new URL(url).protocol),
      'expected redis://… or rediss://…',
    )
    .exactOptional()
    .describe('Where shared state lives. Unset: in SQLite under `.storeferry/`.'),
  ARTIFACTS_URL: z
    .string()
    .refine(
      (url) => !/^[a-z][a-z0-9+.-]+:/i.test(url) || /^(file|s3):\/\/[^?#]/.test(url),
      ARTIFACTS_EXPECTED,
    )
    .default('.storeferry/artifacts')
    .describe('Where the files of runs live: a folder, shared by all workers.'),
  LOG_LEVEL: z.enum(LOG_LEVELS).default('info').describe('What is logged to standard error.'),
});

/** Settings of the workspace as a whole. */
export interface Settings {
  readonly redisUrl: string | undefined;
  /** An absolute path, or an `s3:` address as written. */
  readonly artifactsUrl: string;
  readonly logLevel: (typeof LOG_LEVELS)[number];
}

function artifactsLocation(url: string, dir: string): string {
  if (url.startsWith('s3:')) return url;
  const path = url.startsWith('file:') ? fileURLToPath(url) : url;
  return isAbsolute(path) ? path : resolve(dir, path);
}

/** Reads the settings; ConfigurationError names the variables that cannot be used, without their values. */
export function readSettings(environment: Environment, dir: string): Settings {
  const names = Object.keys(settingsSchema.shape);
  const given = names.flatMap((name) => {
    const value = environment.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const variables = Object.fromEntries(given);
  const parsed = settingsSchema.safeParse(variables, { error: expectation });
  if (!parsed.success) {
    throw new ConfigurationError(
      explainIssues(parsed.error.issues, variables).map(({ path, message, hint }) => ({
        place: { file: 'environment' },
        message: `${path.map(String).join('.')}: ${message}${hint}`,
      })),
    );
  }
  return {
    redisUrl: parsed.data.REDIS_URL,
    artifactsUrl: artifactsLocation(parsed.data.ARTIFACTS_URL, dir),
    logLevel: parsed.data.LOG_LEVEL,
  };
}
