import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { DOMParser, parseHTML } from 'linkedom';
import { describe, expect, it, vi } from 'vitest';
import { liveProgress } from '../../../src/dashboard/pages/run-page.ts';
import type { LiveProgress } from '../../../src/dashboard/run-feed.ts';
import { aRun } from '../../report/run-facts.ts';
import { textOf } from './setup.ts';

const SCRIPT = new URL('../../../src/dashboard/public/live.js', import.meta.url);
const CLOSED = 2;

/** The script at work on the block that the server sends, with events to send it. */
function watching() {
  const block = liveProgress(aRun({ status: 'running', step: 'plan', finishedAt: null }), {
    now: Date.now(),
    timezone: 'UTC',
  });
  const { document } = parseHTML(`<body>${block}</body>`);
  const listeners = new Map<string, (event: { data: string }) => void>();
  const source = { readyState: 1, closed: false };
  class EventSource {
    static readonly CLOSED = CLOSED;
    constructor(url: string) {
      Object.assign(source, { url });
    }
    get readyState(): number {
      return source.readyState;
    }
    addEventListener(name: string, listener: (event: { data: string }) => void): void {
      listeners.set(name, listener);
    }
    close(): void {
      source.closed = true;
    }
  }
  const reload = vi.fn();
  const waits: (() => void)[] = [];
  runInNewContext(readFileSync(SCRIPT, 'utf8'), {
    document,
    DOMParser,
    EventSource,
    fetch: () => Promise.reject(new Error('the server is gone')),
    location: { reload, href: '/runs/k3f9' },
    setTimeout: (callback: () => void) => waits.push(callback),
  });
  const send = (name: string, data: unknown = {}) => listeners.get(name)?.({ data: JSON.stringify(data) });
  const shown = (name: string) => textOf(document.querySelector(`[data-live="${name}"]`));
  return { document, source, reload, waits, send, shown };
}

const PROGRESS: LiveProgress = {
  step: 'apply',
  status: 'running',
  done: 5_400,
  total: 12_000,
  unit: 'requests',
  applied: 5_390,
  rejected: 10,
  words: { percent: '45%', figures: '5,400 of 12,000 requests', rate: '430/s', left: '16 s left' },
  share: 0.45,
};

describe('the script of a run under way', () => {
  it('shows each step with its figures, its rate and the time left', () => {
    const { document, source, send, shown } = watching();
    expect(source).toMatchObject({ url: '/runs/k3f9/events' });
    send('progress', PROGRESS);
    expect(['percent', 'figures', 'rate', 'left', 'applied', 'rejected'].map(shown)).toEqual([
      '45%',
      '5,400 of 12,000 requests',
      '430/s',
      '16 s left',
      '5,390',
      '10',
    ]);
    expect(document.querySelector('progress')?.value).toBe(0.45);
    expect([...document.querySelectorAll('[aria-current="step"]')].map(textOf)).toEqual([
      'Send it to the store',
    ]);
    expect(shown('spoken')).toBe('45%, 5,400 of 12,000 requests, 16 s left');
    send('progress', { ...PROGRESS, words: { ...PROGRESS.words, figures: '6,000 of 12,000 requests' } });
    expect(shown('figures')).toBe('6,000 of 12,000 requests');
    expect(shown('spoken')).toContain('45%');
  });

  it('claims no share of what nobody knows', () => {
    const { document, send, shown } = watching();
    send('progress', {
      ...PROGRESS,
      step: 'stage',
      done: 2_500_000,
      total: null,
      unit: 'bytes',
      share: null,
      words: { percent: '', figures: '2.5 MB', rate: '', left: '' },
    });
    expect([shown('percent'), shown('figures'), shown('rate'), shown('left')]).toEqual([
      '',
      '2.5 MB',
      '',
      '',
    ]);
    expect(document.querySelector('progress')?.hasAttribute('value')).toBe(false);
  });

  it('says when it hears nothing, comes back, and looks again where it may not', () => {
    const { document, source, reload, waits, send } = watching();
    const lost = document.querySelector('[data-live="lost"]');
    send('error');
    expect([lost?.hasAttribute('hidden'), waits.length]).toEqual([false, 0]);
    send('open');
    expect(lost?.hasAttribute('hidden')).toBe(true);
    source.readyState = CLOSED;
    send('error');
    for (const wait of waits) wait();
    expect(reload).toHaveBeenCalledOnce();
  });

  // In place: acting.slow.test.ts.
  it('reloads the page at the end, where it cannot show it in place', async () => {
    const { source, reload, send } = watching();
    send('ended', PROGRESS);
    expect(source.closed).toBe(true);
    await vi.waitFor(() => expect(reload).toHaveBeenCalledOnce());
  });
});
