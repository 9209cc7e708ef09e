import { crc32, deflateRawSync } from 'node:zlib';

/** An entry of a zip to make, with what can be wrong about it. */
export interface ZipEntry {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly stored?: boolean;
  readonly encrypted?: boolean;
  readonly method?: number;
  readonly checksum?: number;
  readonly size?: number;
  readonly unixMode?: number;
  readonly comment?: Uint8Array;
}

/** A zip file with exactly these entries: no library would write some of them. */
export function makeZip(entries: readonly ZipEntry[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const content = Buffer.from(entry.content);
    const packed = entry.stored === true ? content : deflateRawSync(content);
    const name = Buffer.from(entry.name);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(0x800 | (entry.encrypted === true ? 1 : 0), 2);
    common.writeUInt16LE(entry.method ?? (entry.stored === true ? 0 : 8), 4);
    common.writeUInt32LE(entry.checksum ?? crc32(content), 10);
    common.writeUInt32LE(packed.length, 14);
    common.writeUInt32LE(entry.size ?? content.length, 18);
    common.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), common, name, packed]);

    const comment = Buffer.from(entry.comment ?? '');
    const tail = Buffer.alloc(14);
    tail.writeUInt16LE(comment.length, 0);
    tail.writeUInt32LE(((entry.unixMode ?? 0o100644) << 16) >>> 0, 6);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x03', 'latin1'), common, tail, name, comment);
    parts.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, list, end]);
}
