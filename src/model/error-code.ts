/** The stable code of an error of Node.js or a library, else its name; messages of theirs may quote what is secret. */
export function errorCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
