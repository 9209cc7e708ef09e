import { createServer } from 'node:http';

/** A store with these answers, as JSON or as text; 404 where there is none. */
export async function lyingStore(answerTo: (method: string, path: string) => unknown) {
  const sent: string[] = [];
  const server = createServer((request, response) => {
    const { method = '', url = '' } = request;
    sent.push(`${method} ${url}`);
    request.resume().on('end', () => {
      const answer = answerTo(method, url);
      response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(
        typeof answer === 'string'
          ? answer
          : JSON.stringify(answer ?? { success: false, message: 'Not found' }),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    sent,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
