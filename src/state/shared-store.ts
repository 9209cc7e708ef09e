/**
 * What all processes that send to one store agree on through the shared state. Durations only: machines disagree
 * about the time.
 */
export interface SharedStore {
  /** Asks all other processes to send nothing for so long. Never fails: without Redis nothing is sent for long. */
  announce(forMs: number): void;
  /** Calls back for each such request of another process, and for one that is still in force. */
  listen(onPause: (forMs: number) => void): () => void;
  /**
   * Takes up to `most` places in the line of requests to the store, which moves at so many places a second: how many
   * were taken (at least one), and how long until the first of them may be used. The others follow at that pace.
   */
  reserve(perSecond: number, most: number): Promise<{ readonly places: number; readonly afterMs: number }>;
}
