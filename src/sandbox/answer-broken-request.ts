import type { Socket } from 'node:net';

/** Answers bytes that are no HTTP request at all with the error body of storefront-api.md, section 2, and hangs up. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  const body = JSON.stringify({ success: false, message: 'The request is not valid HTTP' });
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      `Content-Type: application/json; charset=utf-8`,
      `Content-Length: ${body.length}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
