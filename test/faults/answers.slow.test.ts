import { describe, expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { atLeast, atMost, none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';
import {
  appliedButError,
  empty,
  errorAnswer,
  halfAnswer,
  html,
  type Misbehaviour,
  redirect,
  resetAfter,
  successFalse,
  trailing,
  unauthorized,
} from '../support/store/faults.ts';
import { seededRandom } from '../support/store/random.ts';
import { type Store, startStore } from '../support/store.ts';
import { type Applied, applyTo, deletions, upserts } from './applying.ts';
import { SCALE } from './scale.ts';

const CONCURRENCY = 16;

function lie(body: string, status = 200): Misbehaviour {
  return { kind: 'answer', status, body, applied: false };
}

/** Outcomes with an id that the store gave to another product. */
function foreignIds(store: Store, { results }: Applied): readonly unknown[] {
  return results.filter(
    ({ operation, outcome }) =>
      outcome.kind === 'applied' && store.shop.byUrl(operation.key)?.id !== outcome.id,
  );
}

describe('what the store answers', () => {
  it.concurrent('is success only when the store has really done it and said so whole', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    await using store = await startStore({ seed });
    const doings = {
      'an HTML page': html,
      'an empty 200': empty,
      'an empty 204': { kind: 'answer', status: 204, body: '', applied: false },
      'half of a JSON, whole by its length': lie('{"id":17,"title":"Mu'),
      'another object': lie('{"status":"maintenance"}'),
      'success: "false"': lie('{"success":"false","message":"no"}'),
      'a list': lie('[]'),
      null: lie('null'),
      'another product': lie('{"id":17,"url":"hand-made","title":"Hand made"}'),
      'half an answer': halfAnswer,
      'success: false': successFalse,
      'trailing bytes': trailing,
      '500 though applied': appliedButError(500),
    } satisfies Record<string, Misbehaviour>;
    for (const [name, does] of Object.entries(doings)) {
      // Rarely enough that no key meets more of them than it has retries.
      store.misbehave({ name, does, probability: 0.02, timesPerKey: 1 });
    }
    const cached = { does: lie('{"id":17,"url":"mug-7","title":"An earlier mug 7"}'), keys: ['mug-7'] };
    store.misbehave({ name: 'a cached answer', ...cached, times: 3 });
    const operations = upserts(400);
    const applied = await applyTo(store, operations, CONCURRENCY, seededRandom(seed));
    const falseSuccesses = applied.results.filter(
      ({ operation, outcome }) =>
        outcome.kind === 'applied' &&
        !store.requests.some(
          ({ key, status, applied: done }) => key === operation.key && done && status === 200,
        ),
    );
    figure(context, {
      invariant: 10,
      seed,
      fired: store.fired(),
      measured: [
        none('false successes', falseSuccesses.length),
        none('applied and not in the store', applied.count('applied') - store.shop.products.size),
        none('ids of other products', foreignIds(store, applied).length),
        none('duplicates', store.figures().duplicates),
      ],
    });
    expect(applied.count('applied')).toBe(operations.length);
  });

  it.concurrent('is never followed when it is a redirect', { timeout: SCALE.patienceMs }, async (context) => {
    const seed = seedOf(context);
    await using elsewhere = await startStore({ seed });
    await using store = await startStore({ seed });
    const statuses = [301, 302, 303, 307, 308];
    for (const status of statuses) {
      const location = `${elsewhere.baseUrl}/api/site/products`;
      store.misbehave({ does: redirect(status, location), probability: 0.1, timesPerKey: 1 });
      store.misbehave({ name: `${status} to itself`, does: redirect(status, '/moved'), probability: 0.05 });
    }
    const applied = await applyTo(store, upserts(300), CONCURRENCY, seededRandom(seed));
    figure(context, {
      invariant: 11,
      seed,
      fired: store.fired(),
      measured: [
        none('followed to another origin, with the key', elsewhere.requests.length),
        none('followed', store.requests.filter(({ target }) => target.includes('moved')).length),
        none('applied and not in the store', applied.count('applied') - store.shop.products.size),
      ],
    });
  });

  it.concurrent('is asked for once when it is a refusal, and never again once the key is revoked', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    await using store = await startStore({ seed, latencyMs: { min: 1, max: 5 } });
    for (const status of [400, 404, 409, 410, 413, 422]) {
      store.misbehave({
        does: errorAnswer(status),
        keys: (key) => Number(key.split('-')[1]) % 1_000 === status,
      });
    }
    const revokedFrom = 1_200;
    store.misbehave({ name: '401', does: unauthorized, from: revokedFrom });
    const applied = await applyTo(store, upserts(2_000), CONCURRENCY, seededRandom(seed));

    const refused = applied.results.filter(({ outcome }) => outcome.kind === 'rejected');
    const askedAgain = refused.filter(({ operation }) => store.requestsOf(operation.key) > 1);
    const refusedByTheStore = store.requests.filter(
      ({ status }) => status !== null && status >= 400 && status !== 401,
    );
    figure(context, {
      invariant: 12,
      seed,
      fired: store.fired(),
      measured: [
        none('refused requests sent again', askedAgain.length),
        atMost(
          CONCURRENCY,
          'requests once the key is revoked, but for the one that confirms it',
          store.requests.length - (revokedFrom - 1) - 1,
        ),
        none('rejections beyond the refusals', refused.length - refusedByTheStore.length),
        atLeast(6, 'refusals', refused.length),
      ],
    });
    expect(applied.endedBy).toBe('unauthorized');
  });

  it.concurrent('ends nothing when a 401 is that of a gateway', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    await using store = await startStore({ seed, latencyMs: { min: 1, max: 5 } });
    for (const from of [1, 100, 333, 700]) {
      store.misbehave({ name: '401 of a gateway', does: unauthorized, from, times: 1 });
    }
    const applied = await applyTo(store, upserts(1_000), CONCURRENCY, seededRandom(seed));
    figure(context, {
      invariant: 12,
      seed,
      fired: store.fired(),
      measured: [
        none('operations that were not applied', 1_000 - applied.count('applied')),
        atMost(0, 'requests beyond one for each 401', store.figures().requests - 1_004),
      ],
    });
    expect(applied.endedBy).toBeNull();
  });

  it.concurrent('is a delete that is done when it is 404, as after an answer that was lost', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    await using store = await startStore({ seed });
    await applyTo(store, upserts(200), CONCURRENCY, seededRandom(seed));
    const operations = deletions(store);
    const keysOf = (from: number, to: number) => operations.slice(from, to).map(({ key }) => key);
    const hidden = keysOf(100, 120);
    const page = lie('<h1>404 Not Found</h1>', 404);
    const noContent: Misbehaviour = { kind: 'answer', status: 204, body: '', applied: true };
    store.misbehave({ name: '404 of a proxy', does: page, method: 'DELETE', keys: hidden });
    store.misbehave({ does: noContent, method: 'DELETE', keys: keysOf(120, 140) });
    store.misbehave({ does: resetAfter, method: 'DELETE', probability: 0.3, timesPerKey: 1 });
    store.misbehave({ does: halfAnswer, method: 'DELETE', probability: 0.3, timesPerKey: 1 });
    const applied = await applyTo(store, operations, CONCURRENCY, seededRandom(seed));
    const isWrong = ({ operation, outcome }: (typeof applied.results)[number]): boolean =>
      (outcome.kind === 'rejected') !== hidden.includes(operation.key);
    figure(context, {
      invariant: 13,
      seed,
      fired: store.fired(),
      measured: [
        none('misclassified', applied.results.filter(isWrong).length),
        none('products left', store.shop.products.size - hidden.length),
        atLeast(10, 'answers 404', store.figures().byStatus['404'] ?? 0),
      ],
    });
  });
});

describe('a record that always fails', () => {
  it.concurrent('does not block the others', { timeout: SCALE.patienceMs }, async (context) => {
    const seed = seedOf(context);
    await using store = await startStore({ seed });
    const operations = upserts(10_000);
    const poison = `mug-${Math.floor(seededRandom(seed)() * operations.length)}`;
    store.misbehave({ name: '503 for one of 10 000', does: errorAnswer(503), keys: [poison] });
    const applied = await applyTo(store, operations, CONCURRENCY, seededRandom(seed));
    figure(context, {
      invariant: 17,
      seed,
      fired: store.fired(),
      measured: [
        atLeast(9_999, 'applied of 10 000', applied.count('applied')),
        atMost(1, 'rejected or unsent', applied.count('rejected') + applied.count('unsent')),
        none('left without an outcome', operations.length - applied.results.length),
      ],
    });
  });
});
