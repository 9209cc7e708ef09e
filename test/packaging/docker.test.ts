import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';

const ROOT = join(import.meta.dirname, '..', '..');
const read = (name: string): string => readFileSync(join(ROOT, name), 'utf8');

/** What the tests ask of a service; a list of words where Compose takes one or many. */
const serviceSchema = z.object({
  image: z.string(),
  build: z.string().optional(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  volumes: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  profiles: z.array(z.string()).default([]),
  network_mode: z.string().optional(),
  restart: z.string().optional(),
  user: z.string().optional(),
  stop_grace_period: z.string().optional(),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  depends_on: z.unknown().optional(),
  privileged: z.never().optional(),
  security_opt: z.array(z.string()),
  cap_drop: z.array(z.string()),
  read_only: z.boolean(),
  tmpfs: z.array(z.string()),
  mem_limit: z.string(),
  pids_limit: z.int(),
});

/** What no container may do, whatever runs in it. */
function expectConfined(service: z.infer<typeof serviceSchema>): void {
  const { cap_drop, security_opt, read_only, tmpfs, mem_limit, user } = service;
  expect({ cap_drop, security_opt, read_only, tmpfs }).toEqual({
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
    read_only: true,
    tmpfs: ['/tmp'],
  });
  expect(mem_limit).toMatch(/^\$\{\w+:-\d+g\}$/);
  expect(user ?? 'node').not.toMatch(/root|^0/);
}
const composeSchema = z.object({
  services: z.object({
    redis: serviceSchema,
    worker: serviceSchema,
    dashboard: serviceSchema,
    sandbox: serviceSchema,
  }),
  volumes: z.record(z.string(), z.unknown()),
});

describe('docker-compose.yml', () => {
  const { services, volumes } = composeSchema.parse(parse(read('docker-compose.yml')));
  const { redis, worker, dashboard, sandbox } = services;

  it('has a Redis that keeps its data in a volume and is healthy before a worker starts', () => {
    const command = redis.command?.join(' ') ?? '';
    expect(command).toContain('appendonly yes');
    expect(command).toContain('maxmemory-policy noeviction');
    expect(redis.volumes).toEqual(['redis:/data']);
    expect(volumes).toHaveProperty('redis');
    expect(redis.healthcheck?.test.join(' ')).toContain('redis-cli --user storeferry ping');
    expect(worker.depends_on).toEqual({ redis: { condition: 'service_healthy' } });
    expect(worker.environment['REDIS_URL']).toMatch(/^redis:..storeferry:\$\{REDIS_PASSWORD\}@redis:6379$/);
  });

  it('confines each container, and pins the image of Redis', () => {
    for (const service of Object.values(services)) expectConfined(service);
    expect(redis.user).toBe('redis');
    expect(redis.image).toMatch(/^redis:\d+\.\d+\.\d+-alpine$/);
    expect(redis.command?.join(' ')).toContain('maxmemory $$REDIS_MAXMEMORY');
  });

  it('publishes nothing beyond this machine', () => {
    for (const { ports } of Object.values(services)) {
      expect(ports.filter((port) => !port.startsWith('127.0.0.1:'))).toEqual([]);
    }
  });

  it('starts Redis and workers again, with time enough to hand back, and not as root', () => {
    expect([redis.restart, worker.restart]).toEqual(['unless-stopped', 'unless-stopped']);
    expect(Number.parseInt(worker.stop_grace_period ?? '', 10)).toBeGreaterThan(7);
    expect(worker.user).toMatch(/:-node\}$/);
    expect(worker.volumes).toEqual([expect.stringMatching(/:\/workspace$/)]);
  });

  it('serves the dashboard only when it is asked for, to this machine, and asks it how it is at its own port', () => {
    expect(dashboard.profiles).toEqual(['dashboard']);
    const port = dashboard.command?.at(-1)?.replace('0.0.0.0:', '');
    expect(dashboard.ports).toEqual([`127.0.0.1:${port}:${port}`]);
    expect(dashboard.healthcheck?.test.join(' ')).toContain(`127.0.0.1:${port}/healthz`);
    expect(dashboard.environment).toEqual(worker.environment);
    expect([dashboard.volumes, dashboard.user, dashboard.restart]).toEqual([
      worker.volumes,
      worker.user,
      worker.restart,
    ]);
    expect(dashboard.depends_on).toEqual(worker.depends_on);
  });

  it('serves the sandbox only when it is asked for, where the worker reaches it on loopback', () => {
    expect(sandbox.profiles).toEqual(['sandbox']);
    expect([redis.profiles, worker.profiles]).toEqual([[], []]);
    expect(sandbox.network_mode).toBe('service:worker');
    expect(sandbox.command?.[0]).toBe('sandbox');
    expect([worker.build, dashboard.build, sandbox.build]).toEqual(['.', '.', '.']);
  });
});

describe('docker-compose.embedded.yml', () => {
  const text = read('docker-compose.embedded.yml');
  const { storeferry } = z
    .strictObject({ services: z.strictObject({ storeferry: serviceSchema }) })
    .parse(parse(text)).services;

  it('is a dashboard and worker on this machine only, started again, with time to end, and not as root', () => {
    expect(storeferry.command).toEqual(['dashboard', '--worker', '--listen', '0.0.0.0:8700']);
    expect(storeferry.ports).toEqual(['127.0.0.1:8700:8700']);
    expect(storeferry.volumes).toEqual([expect.stringMatching(/:\/workspace$/)]);
    expect(storeferry.healthcheck?.test.join(' ')).toContain('127.0.0.1:8700/healthz');
    expect([storeferry.restart, storeferry.user]).toEqual([
      'unless-stopped',
      expect.stringMatching(/:-node\}$/),
    ]);
    expectConfined(storeferry);
    // Longer than requests in flight may take to end.
    expect(Number.parseInt(storeferry.stop_grace_period ?? '', 10)).toBeGreaterThan(30);
  });
});

describe('Dockerfile', () => {
  const stages = read('Dockerfile')
    .split(/^(?=FROM )/m)
    .slice(1);
  const final = stages.at(-1) ?? '';

  it('is built in stages on Node 24, and ends without what only a build needs', () => {
    expect(stages).toHaveLength(2);
    for (const stage of stages) expect(stage).toMatch(/^FROM node:24\.\d+\.\d+-slim/);
    expect(stages[0]).toContain('npm ci');
    expect(final).toContain('--from=build /app/dist');
    expect(final).not.toMatch(/npm|src/);
  });

  it('runs a worker as a user of its own, and asks it how it is', () => {
    expect(final.indexOf('USER node')).toBeGreaterThan(0);
    expect(final.slice(final.indexOf('USER node'))).not.toContain('RUN');
    expect(final).toContain('ENTRYPOINT ["storeferry"]');
    expect(final).toContain('CMD ["worker", "--listen", "9464"]');
    expect(final).toMatch(/HEALTHCHECK .*\\\n +CMD \["node", "-e", ".*127\.0\.0\.1:9464\/healthz/);
  });

  it('copies only what is there and what .dockerignore lets through', () => {
    const copied = [...read('Dockerfile').matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, names = '']) =>
      names.split(' '),
    );
    const [everything, ...letThrough] = read('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(everything).toBe('*');
    expect([...new Set(copied)].sort()).toEqual(letThrough.map((line) => line.slice(1)).sort());
    for (const name of copied) expect(existsSync(join(ROOT, name))).toBe(true);
  });

  it('carries all that the package names as its files', () => {
    const files = z.object({ files: z.array(z.string()) }).parse(JSON.parse(read('package.json'))).files;
    for (const name of files.filter((file) => file !== 'CHANGELOG.md' && file !== 'dist'))
      expect(final).toContain(name);
  });
});
