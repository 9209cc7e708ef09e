/**
 * Writes entries in groups, one group at a time: entries that arrive during a write form the next group. So one
 * durable write records all outcomes that arrived during the previous one.
 */
export interface GroupCommit<Entry> {
  /** Puts an entry into the next group. */
  add(entry: Entry): void;
  /** Resolves when everything added so far is written or has failed. */
  settled(): Promise<void>;
}

interface GroupCommitOptions<Entry> {
  readonly write: (group: readonly Entry[]) => Promise<void>;
  readonly onWritten: (group: readonly Entry[]) => void;
  /** Called once; nothing is written after it. */
  readonly onFailed: (error: unknown) => void;
}

/** Groups of entries for one writer. */
export function groupCommit<Entry>({
  write,
  onWritten,
  onFailed,
}: GroupCommitOptions<Entry>): GroupCommit<Entry> {
  let gathering: Entry[] = [];
  let writing: Promise<void> | null = null;
  let failed = false;

  const run = async (): Promise<void> => {
    while (gathering.length > 0 && !failed) {
      // Answers that arrived in this turn of the event loop belong in the same group.
      await new Promise(setImmediate);
      const group = gathering;
      gathering = [];
      try {
        await write(group);
      } catch (error) {
        failed = true;
        onFailed(error);
        break;
      }
      onWritten(group);
    }
    writing = null;
  };

  return {
    add(entry) {
      gathering.push(entry);
      if (!failed) writing ??= run();
    },
    async settled() {
      while (writing !== null) await writing;
    },
  };
}
