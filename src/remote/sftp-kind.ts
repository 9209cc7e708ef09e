import { z } from 'zod';
import { addProblem } from '../model/json-object.ts';
import { isPattern } from './matches-pattern.ts';
import { allowPrivateAddresses, newest, remoteKind, secretField } from './remote-kind.ts';
import type { SftpAddress } from './ssh-connection.ts';

const EXPECTED = 'expected an address such as sftp://user@files.example/exports/catalog.csv';

type SftpParts = Pick<SftpAddress, 'host' | 'port' | 'user' | 'path'>;

/** The parts of an address, or why the text is not an address. */
function readAddress(text: string): SftpParts | { readonly why: string } {
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
    return { why: 'in the address two digits must follow a %; write a plain % as %25' };
  }
}

const addressSchema = z
  .string()
  .trim()
  .regex(/^sftp:\/\/[^/]/, { error: EXPECTED, abort: true })
  .superRefine((text, context) => {
    const read = readAddress(text);
    if ('why' in read) addProblem(context, read.why);
  });

const HOST_KEY_EXPECTED =
  'expected a fingerprint such as SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU; `ssh-keyscan HOST | ssh-keygen -lf -` prints those of a server; compare them with the fingerprint from its operator';

const hostKeySchema = z
  .string(HOST_KEY_EXPECTED)
  .trim()
  .regex(/^SHA256:[A-Za-z0-9+/]{43}=?$/, HOST_KEY_EXPECTED);

const schema = z
  .strictObject(
    {
      address: addressSchema.meta({
        description:
          'User, host, port (default: 22) and path, from the root or with /~/ from the home folder. In sources a `*` in the last part matches any text.',
        examples: ['sftp://shop@files.example:22/exports/catalog.csv'],
      }),
      hostKey: z
        .union([hostKeySchema, z.array(hostKeySchema).min(1)])
        .describe('The fingerprint of the key of the server, or a list of allowed fingerprints.'),
      password: secretField('The password.', 'SFTP_PASSWORD').exactOptional(),
      privateKey: secretField(
        'The private key instead of a password: the whole text, line breaks perhaps written as \\n.',
        'SFTP_KEY',
      ).exactOptional(),
      passphrase: secretField(
        'The passphrase of the private key, if it is encrypted.',
        'SFTP_PASSPHRASE',
      ).exactOptional(),
      newest,
      allowPrivateAddresses,
    },
    {
      // Of an unknown key the message is the list of the known ones.
      error: ({ code }) =>
        code === 'invalid_type'
          ? 'expected a map with address, hostKey and password or privateKey'
          : undefined,
    },
  )
  .superRefine(({ password, privateKey, passphrase }, context) => {
    const add = (path: string, message: string) => addProblem(context, message, path);
    if (password === undefined && privateKey === undefined) {
      add('password', `give password: "\${SFTP_PASSWORD}" or privateKey: "\${SFTP_KEY}"`);
    }
    if (password !== undefined && privateKey !== undefined) {
      add('privateKey', 'there is already a password; give only one of the two');
    }
    if (passphrase !== undefined && privateKey === undefined) {
      add('passphrase', 'a passphrase needs a privateKey');
    }
  })
  .meta({
    id: 'SftpFile',
    description: 'A file on an SSH server, whose key is checked before login.',
  });

/** Files on an SSH server. */
export const sftpKind = remoteKind<z.infer<typeof schema>, SftpAddress>({
  kind: 'sftp',
  schema,
  description: { source: 'Files on an SSH server.', destination: 'A file on an SSH server.' },
  secrets: () => [
    { path: ['password'], variable: 'SFTP_PASSWORD' },
    { path: ['privateKey'], variable: 'SFTP_KEY' },
    { path: ['passphrase'], variable: 'SFTP_PASSPHRASE' },
  ],
  namesSeveral: ({ address, newest }) => newest || isPattern(address),
  complete: ({ address, hostKey, password, privateKey, passphrase, ...rest }) => {
    const read = readAddress(address);
    if ('why' in read) return { problem: read.why };
    return {
      remote: {
        kind: 'sftp',
        location: address,
        ...read,
        hostKeys: typeof hostKey === 'string' ? [hostKey] : hostKey,
        password: password ?? null,
        // Some environments cannot have line breaks in a variable.
        privateKey: privateKey?.includes('\n') ? privateKey : (privateKey?.replaceAll('\\n', '\n') ?? null),
        passphrase: passphrase ?? null,
        ...rest,
      },
      unset: [],
    };
  },
  identity: ({ host, port, user }) => [host, port, user],
  // SFTP times count seconds: a file may be rewritten with the same size within one.
  hasExactVersions: false,
  open: async (at) => (await import('./sftp-client.ts')).sftpClient(at),
});
