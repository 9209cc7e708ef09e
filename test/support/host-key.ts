import { utils } from 'ssh2';
import { fingerprintOf } from '../../src/remote/ssh-connection.ts';

/** A key pair for an SSH server of a test; about one in 250 that ssh2 makes it cannot read itself. */
export function makeHostKey(): { readonly key: string; readonly fingerprint: string } {
  for (;;) {
    const { private: key, public: publicKey } = utils.generateKeyPairSync('ed25519');
    const parsed = utils.parseKey(publicKey);
    if (parsed instanceof Error || utils.parseKey(key) instanceof Error) continue;
    return { key, fingerprint: fingerprintOf(parsed.getPublicSSH()) };
  }
}
