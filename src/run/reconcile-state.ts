import type { StoreConfig } from '../config/stores.ts';
import type { Resource } from '../model/record.ts';
import type { StateLoss } from '../model/run.ts';
import { storeIdentity } from '../model/store-identity.ts';
import type { RunContext } from './context.ts';

/**
 * Looks whether the state still holds all that was sent to the store's resource. Where it does not, everything that may
 * be affected is in doubt from now on, and the loss is given, to be kept with the run; else undefined. To be called
 * before the run is created.
 */
export async function reconcileState(
  { state, onEvent }: RunContext,
  store: StoreConfig,
  resource: Resource,
): Promise<StateLoss | undefined> {
  const loss = await state.ledger({ storeId: storeIdentity(store), resource }).reconcile();
  if (loss === null) return undefined;
  onEvent({ type: 'state-loss', loss });
  return loss;
}
