import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { endWithTest, succeeds } from './processes.ts';

/** Networks of their own, each with a line to this machine and none to another, and no loopback in common. */
export interface SeparateNetworks extends AsyncDisposable {
  /** What stands before a command that is to run in a network. */
  readonly entrances: readonly (readonly string[])[];
  /** Lets a loopback port of this machine be reached from all networks; gives the address there. */
  share(port: number): Promise<string>;
  /** The same, for all networks but the last, which has no way there. */
  shareButLast(port: number): Promise<string>;
}

function ip(...args: readonly string[]): boolean {
  return succeeds('ip', ...args);
}

/** Makes so many networks; undefined where that is not allowed, or `ip` is not there. */
export async function separateNetworks(count: number): Promise<SeparateNetworks | undefined> {
  const { pid } = process;
  const subnet = (pid % 250) + 1;
  const everybody = `10.213.${subnet}.1`;
  const most = `10.214.${subnet}.1`;
  const bridge = `sfb${pid}`;
  const names = Array.from({ length: count }, (_, index) => `sfn${pid}-${index}`);
  const sockets = new Set<Socket>();
  const servers: ReturnType<typeof createServer>[] = [];
  const remove = () => {
    for (const name of names) ip('netns', 'del', name);
    ip('link', 'del', bridge);
  };
  const release = endWithTest(
    remove,
    [...names.map((name) => `ip netns del ${name}`), `ip link del ${bridge}`].join('; '),
  );
  const made =
    ip('link', 'add', bridge, 'type', 'bridge') &&
    ip('addr', 'add', `${everybody}/24`, 'dev', bridge) &&
    ip('addr', 'add', `${most}/32`, 'dev', bridge) &&
    ip('link', 'set', bridge, 'up') &&
    names.every((name, index) => {
      const line = `sfv${pid}${index}`;
      return (
        ip('netns', 'add', name) &&
        ip('link', 'add', line, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name) &&
        ip('link', 'set', line, 'master', bridge, 'up') &&
        // Networks see this machine, and not one another.
        succeeds('bridge', 'link', 'set', 'dev', line, 'isolated', 'on') &&
        ip('-n', name, 'addr', 'add', `10.213.${subnet}.${index + 2}/24`, 'dev', 'eth0') &&
        ip('-n', name, 'link', 'set', 'lo', 'up') &&
        ip('-n', name, 'link', 'set', 'eth0', 'up') &&
        (index === count - 1 || ip('-n', name, 'route', 'add', `${most}/32`, 'dev', 'eth0'))
      );
    });
  if (!made) {
    remove();
    release();
    return undefined;
  }

  const forward = async (host: string, port: number): Promise<string> => {
    const server = createServer((socket) => {
      const inner = connect(port, '127.0.0.1');
      for (const [one, other] of [
        [socket, inner],
        [inner, socket],
      ] as const) {
        sockets.add(one);
        one.on('error', () => other.destroy());
        one.once('close', () => {
          sockets.delete(one);
          other.destroy();
        });
        one.pipe(other);
      }
    });
    servers.push(server);
    server.listen(0, host);
    await once(server, 'listening');
    const address = server.address();
    return `${host}:${typeof address === 'object' ? address?.port : ''}`;
  };
  return {
    entrances: names.map((name) => ['ip', 'netns', 'exec', name]),
    share: (port) => forward(everybody, port),
    shareButLast: (port) => forward(most, port),
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      for (const server of servers) server.close();
      remove();
      release();
    },
  };
}
