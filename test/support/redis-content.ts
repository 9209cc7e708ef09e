import { Redis } from 'ioredis';

/** Everything that a Redis holds, whatever its type, as one text to look for something in. */
export async function redisContent(url: string): Promise<string> {
  const client = new Redis(url);
  const parts: string[] = [];
  for (const key of await client.keys('*')) {
    // The serialised form holds values of any type; compressed strings are read as they are.
    const dump = await client.dumpBuffer(key);
    parts.push(key, dump?.toString('latin1') ?? '');
    const type = await client.type(key);
    if (type === 'hash') parts.push(JSON.stringify(await client.hgetall(key)));
    if (type === 'string') parts.push((await client.get(key)) ?? '');
    if (type === 'stream') parts.push(JSON.stringify(await client.xrange(key, '-', '+')));
  }
  client.disconnect();
  return parts.join('\n');
}
