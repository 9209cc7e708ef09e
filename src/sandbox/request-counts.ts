/** How many requests the API answered since the start; not kept over a restart. */
export type RequestCounts = ReturnType<typeof createRequestCounts>;

/** Counts from zero. */
export function createRequestCounts() {
  let total = 0;
  const routes = new Map<string, number>();
  const statuses = new Map<string, number>();
  const faults = new Map<string, number>();
  const add = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1);
  return {
    count(route: string, status: number) {
      total += 1;
      add(routes, route);
      add(statuses, String(status));
    },
    countFault: (kind: string) => add(faults, kind),
    read: (): {
      readonly total: number;
      readonly routes: Readonly<Record<string, number>>;
      readonly statuses: Readonly<Record<string, number>>;
      readonly faults: Readonly<Record<string, number>>;
    } => ({
      total,
      routes: Object.fromEntries(routes),
      statuses: Object.fromEntries(statuses),
      faults: Object.fromEntries(faults),
    }),
  };
}
