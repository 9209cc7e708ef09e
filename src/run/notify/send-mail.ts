import { createTransport } from 'nodemailer';
import { codeOf, errorCode } from '../../model/storeferry-error.ts';
import { NotDelivered, type Transport } from './transport.ts';

/** A relay on this machine may have no certificate. */
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/;

/**
 * Sends a mail with the report of the run. Only over TLS, except to a relay on this machine: without `requireTLS` the client falls
 * back to plain text where somebody removes the offer of STARTTLS.
 */
export const sendMail: Transport<'email'> = async (
  { server, from, address },
  { notification, report },
  { attemptMs, signal },
) => {
  const { hostname, protocol, port, username, password } = new URL(server);
  const isLocal = LOOPBACK.test(hostname);
  // One connection for each mail: a pool loses mails that wait in it.
  const isSecure = protocol === 'smtps:';
  const transport = createTransport({
    host: hostname,
    port: port === '' ? (isSecure ? 465 : 587) : Number(port),
    secure: isSecure,
    ...(username === ''
      ? {}
      : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    requireTLS: !isLocal,
    ignoreTLS: isLocal,
    connectionTimeout: attemptMs,
    greetingTimeout: attemptMs,
    socketTimeout: attemptMs,
    socketCloseTimeout: 0,
  });
  const [subject = ''] = notification.text.split('\n');
  try {
    await transport.sendMail({
      from,
      // The time limits of the client begin anew with every byte of the server.
      signal,
      to: [...address],
      subject,
      text: notification.text,
      // Equal for repeated deliveries: a mail server or a reader recognises the second one.
      messageId: `<${notification.id}@storeferry>`,
      attachments:
        report === null ? [] : [{ filename: 'report.html', content: report, contentType: 'text/html' }],
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new NotDelivered(...problemOf(error));
  } finally {
    transport.close();
  }
};

/** Answers of mail servers with a 5 are final, those with a 4 pass. */
function problemOf(error: unknown): [message: string, status: number | null] {
  const answered =
    error instanceof Error && 'responseCode' in error && typeof error.responseCode === 'number'
      ? error.responseCode
      : null;
  if (answered !== null) return [`the mail server answered ${answered}`, answered >= 500 ? 400 : null];
  if (codeOf(error) === 'ETLS') return ['the mail server offers no TLS', 400];
  return [`no connection (${errorCode(error)})`, null];
}
