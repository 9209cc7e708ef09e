import { z } from 'zod';

/** The parts of an SFTP address. */
export interface SftpParts {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** Absolute, or from the user's home folder. */
  readonly path: string;
}

const EXPECTED = 'expected an address such as sftp://user@files.example/exports/catalog.csv';

/** The parts, or why the text is no such address. */
export function readSftpAddress(text: string): SftpParts | { readonly why: string } {
  if (!URL.canParse(text)) return { why: EXPECTED };
  const { username, password, hostname, port, pathname, search, hash } = new URL(text);
  if (password !== '') return { why: 'the address must not contain a password; give it as password' };
  if (username === '') return { why: `${EXPECTED}, with a user` };
  if (search !== '' || hash !== '') {
    return { why: 'the address must not contain ? or #; in a name they are written as %3F and %23' };
  }
  try {
    const whole = decodeURIComponent(pathname);
    if (whole.endsWith('/') || whole === '') return { why: `${EXPECTED}, with the path of a file` };
    return {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? 22 : Number(port),
      user: decodeURIComponent(username),
      path: whole.startsWith('/~/') ? whole.slice(3) : whole,
    };
  } catch {
    return { why: 'in the address a % is followed by two digits; a plain % is written as %25' };
  }
}

export const sftpAddressSchema = z
  .string()
  .trim()
  .regex(/^sftp:\/\/[^/]/, { error: EXPECTED, abort: true })
  .superRefine((text, context) => {
    const read = readSftpAddress(text);
    if ('why' in read) context.addIssue({ code: 'custom', message: read.why });
  });
