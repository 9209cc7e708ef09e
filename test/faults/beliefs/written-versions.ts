import type { RunTotals } from '../../../src/model/run.ts';
import type { OperationResult } from '../../../src/state/state.ts';
import { TEXTS } from './jobs.ts';

/** A run, as far as the versions that it writes depend on it. */
export interface WritingRun {
  readonly id: string;
  readonly job: string;
  /** The run that it retries, releases or undoes. */
  readonly part: { readonly kind: 'retry' | 'release' | 'undo'; readonly of: string } | null;
}

/** A run has sent a request for a key, or has found it unchanged. */
interface Touch {
  readonly run: string;
  readonly job: string;
  readonly at: number;
  /** As sent; null for a delete. */
  readonly body?: string | null;
  readonly isFound?: true;
}

interface Acknowledged {
  /** Equal for versions that an undo brought back. */
  readonly version: number;
  /** Null after a delete, and before the first acknowledgement; undefined where the state has lost it. */
  readonly body: string | null | undefined;
  readonly owner: string | null;
}

interface KeyVersions {
  touches: Touch[];
  /** Runs whose requests have no certain end. */
  open: Set<string>;
  now: Acknowledged;
  /** When each run first put the key in doubt, or tried to. */
  readonly begunAt: Map<string, number>;
  readonly before: Map<string, Acknowledged>;
  readonly after: Map<string, number>;
}

/**
 * Who has written which version of which key, by the requests that reached the store and the outcomes that were recorded: what `retry`,
 * `release` and `undo` may send is judged by these, and not by the state.
 */
export class WrittenVersions {
  /** Requests of a retry, release or undo over what another run has written since, and undos that give something else back. */
  readonly wrong: string[] = [];
  readonly #note: (fault: string) => void;
  readonly #keys = new Map<string, KeyVersions>();
  readonly #runs = new Map<string, WritingRun>();
  readonly #begun = new Map<string, number>();
  readonly #ended = new Map<string, number>();
  /** The operations of each run whose last recorded outcome was a success, by key and kind. */
  readonly #applied = new Map<string, Set<string>>();
  readonly #wasEdited: (key: string, field: string) => boolean;
  #moment = 0;
  #lostAt = 0;

  /** `wasEdited`: whether somebody has ever changed the field of the key by hand, which an undo leaves alone. */
  constructor(note: (fault: string) => void, wasEdited: (key: string, field: string) => boolean) {
    this.#note = note;
    this.#wasEdited = wasEdited;
  }

  /** Whether so many upserts and deletes of a run are in the state; of one that has lost something since, nobody can say. */
  hasApplied(run: string, { applied, deleted }: Pick<RunTotals, 'applied' | 'deleted'>): boolean {
    if ((this.#begun.get(run) ?? 0) < this.#lostAt) return true;
    const names = [...(this.#applied.get(run) ?? [])];
    const countOf = (kind: string) => names.filter((name) => name.startsWith(kind)).length;
    return applied === countOf('upsert') && deleted === countOf('delete');
  }

  /** The present moment; each call gives a later one. */
  next(): number {
    return ++this.#moment;
  }

  begin(run: WritingRun): void {
    this.#runs.set(run.id, run);
    if (!this.#begun.has(run.id)) this.#begun.set(run.id, this.next());
  }

  /** The run stops working on its target. */
  end(run: string): void {
    this.#ended.set(run, this.next());
  }

  /** The state has lost something: what was acknowledged before is no longer what it knows. */
  lose(): void {
    this.#lostAt = this.next();
    for (const known of this.#keys.values()) {
      known.touches = known.touches.filter(({ isFound }) => !isFound);
      known.now = { version: this.next(), body: undefined, owner: null };
    }
  }

  /** A run that is done has found the key unchanged when it planned. */
  found({ id: run, job }: Pick<WritingRun, 'id' | 'job'>, key: string, plannedAt: number): void {
    if (plannedAt > this.#lostAt) this.#of(key).touches.push({ run, job, at: plannedAt, isFound: true });
  }

  /** The key is about to be put in doubt, before a request. */
  beginKey(run: string, key: string): void {
    const { begunAt } = this.#of(key);
    if (!begunAt.has(run)) begunAt.set(run, this.next());
  }

  /** A request leaves for the store; `body` is null for a delete, and of the whole record for a part. `isLookUp`: before a delete. */
  request(run: WritingRun, key: string, body: string | null, isLookUp = false): void {
    const known = this.#of(key);
    const { part } = run;
    if (part !== null) this.#note(NAMES[part.kind]);
    if (part?.kind === 'undo') {
      if (this.#runs.get(part.of)?.part?.kind === 'undo') this.#note('undone undos');
      this.#judgeUndo(run, part.of, key, body, isLookUp);
    } else if (part !== null) {
      this.#judgeStale(run, part, key, body);
    }
    known.touches.push({ run: run.id, job: run.job, at: this.next(), body });
    known.open.add(run.id);
  }

  /** The outcome is in the state. */
  recorded(run: WritingRun, result: OperationResult): void {
    const { operation, outcome } = result;
    const { key } = operation;
    const known = this.#of(key);
    switch (outcome.kind) {
      case 'applied':
        this.#applied.set(run.id, (this.#applied.get(run.id) ?? new Set()).add(nameOf(result)));
        known.open.clear();
        if (operation.kind === 'delete-product') this.#acknowledge(run, key, null, null);
        else if (operation.kind === 'upsert-product')
          this.#acknowledge(run, key, operation.body, operation.owner ?? run.job);
        return;
      case 'left':
        return;
      case 'rejected':
      case 'unsent':
        if (outcome.inDoubt === true || outcome.atWork === true) return;
        known.open.delete(run.id);
        known.touches = known.touches.filter((touch) => touch.run !== run.id);
        return;
      default:
        outcome satisfies never;
    }
  }

  #of(key: string): KeyVersions {
    const known = this.#keys.get(key) ?? {
      touches: [],
      open: new Set(),
      now: { version: 0, body: null, owner: null },
      begunAt: new Map(),
      before: new Map(),
      after: new Map(),
    };
    this.#keys.set(key, known);
    return known;
  }

  #judgeStale(
    { id, job }: WritingRun,
    part: NonNullable<WritingRun['part']>,
    key: string,
    body: string | null,
  ): void {
    const since = this.#ended.get(part.of) ?? 0;
    const all = this.#of(key).touches.filter(
      ({ run, at }) => at > since && run !== id && !this.#isSame(run, job, part),
    );
    const text = all.findLast((touch) => touch.job === TEXTS && touch.isFound === undefined);
    // A text was awaited until another job had sent its product; other jobs keep texts, and send the newest.
    const isApart = (touch: Touch) =>
      job === TEXTS
        ? touch.job !== TEXTS
        : touch.job === TEXTS && (touch.isFound === true || textIn(body) === textIn(text?.body));
    const newer = all.find((touch) => !isApart(touch));
    if (all.length > 0 && newer === undefined) this.#note(`${part.kind} beside a text`);
    if (newer === undefined) return;
    const how = newer.isFound === undefined ? 'wrote' : 'found';
    this.wrong.push(`${id} ${part.kind}s ${part.of}: ${key}, which ${newer.run} ${how} since`);
  }

  /** Whether the run was an earlier attempt to do the same. */
  #isSame(run: string, job: string, { kind, of }: NonNullable<WritingRun['part']>): boolean {
    const earlier = this.#runs.get(run);
    return earlier?.job === job && earlier.part?.kind === kind && earlier.part.of === of;
  }

  #judgeUndo({ id, job }: WritingRun, of: string, key: string, body: string | null, isLookUp: boolean): void {
    const { now, before, after, open, touches, begunAt } = this.#of(key);
    const isOwn = (run: string) => run === of || this.#isSame(run, job, { kind: 'undo', of });
    if ((this.#begun.get(of) ?? 0) < this.#lostAt) {
      // What a state that has lost something knows of earlier runs is not what was acknowledged.
      const newest = touches.at(-1);
      const own = touches.findLast(({ run }) => run === of);
      const isOther = newest !== undefined && !isOwn(newest.run) && newest.body !== own?.body;
      if (isOther && newest.at > (this.#ended.get(of) ?? 0) && newest.at < this.#lostAt)
        this.#noteUndo(id, of, key, newest.run);
      return;
    }
    const since = begunAt.get(of) ?? 0;
    const other = touches.find(({ run, at }) => open.has(run) && at > since && !isOwn(run))?.run;
    // It was killed before its request: what the store has acknowledged is sent again.
    if (other === undefined && body === now.body) return;
    const earlier = before.get(of);
    const isOpen = earlier === undefined && (open.size > 0 || begunAt.has(of));
    const isItsOwn = isOpen || now.version === after.get(of) || now.version === earlier?.version;
    if (other !== undefined || !isItsOwn) {
      this.#noteUndo(id, of, key, other ?? 'another run');
      return;
    }
    const back = isOpen ? now.body : earlier?.body;
    if (back === undefined) return;
    // Before a delete, the id may be asked for once more.
    if (
      body !== back &&
      !(back === null && isLookUp) &&
      !this.#leavesEdits(key, { body, back, now: now.body })
    )
      this.wrong.push(`${id} undoes ${of}: ${key} becomes ${body} instead of ${back}`);
  }

  /** Whether a body is the one to give back, but for fields that somebody has changed by hand, which have the present value. */
  #leavesEdits(
    key: string,
    { body, back, now }: Readonly<Record<'body' | 'back' | 'now', string | null | undefined>>,
  ): boolean {
    if (body == null || back == null || now == null) return false;
    const [sent, earlier, present] = [body, back, now].map(
      (text): Record<string, unknown> => JSON.parse(text),
    );
    return Object.keys({ ...sent, ...earlier }).every((field) => {
      const text = JSON.stringify(sent?.[field]);
      const isBack = text === JSON.stringify(earlier?.[field]);
      return isBack || (text === JSON.stringify(present?.[field]) && this.#wasEdited(key, field));
    });
  }

  #noteUndo(id: string, of: string, key: string, other: string): void {
    this.wrong.push(`${id} undoes ${of}: ${key}, which ${other} wrote since`);
  }

  #acknowledge({ id, part }: WritingRun, key: string, body: string | null, owner: string | null): void {
    const known = this.#of(key);
    const { now, before, after } = known;
    const isRepeated = body !== null && body === now.body && owner === now.owner;
    const undone = part?.kind === 'undo' ? part.of : undefined;
    if (!before.has(id)) before.set(id, now);
    const back =
      undone !== undefined && after.get(undone) === now.version ? before.get(undone)?.version : undefined;
    if (!isRepeated) known.now = { version: back ?? this.next(), body, owner };
    after.set(id, known.now.version);
  }
}

function textIn(body: string | null | undefined): unknown {
  return body == null ? body : JSON.parse(body).description;
}

function nameOf({ operation }: OperationResult): string {
  const { kind, key } = operation;
  return `${kind === 'delete-product' && operation.renamedTo !== undefined ? 'renamed' : kind} ${key}`;
}

const NAMES = { retry: 'retried records', release: 'released records', undo: 'undone records' } as const;
