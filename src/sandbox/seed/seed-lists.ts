/** The subscriber lists of a new sandbox. The id 0 is the first: section 2 (Contact) has it in its sample. */
export const SEED_LISTS = [
  { id: 0, name: 'Newsletter', created: 1_672_617_600, opens: 0.412, clicks: 0.058 },
  { id: 1, name: 'Wholesale customers', created: 1_680_307_200, opens: 0.633, clicks: 0.171 },
  { id: 2, name: 'Back in stock, “Tell me”', created: 1_704_067_200, opens: 0.547, clicks: 0.239 },
] as const;
