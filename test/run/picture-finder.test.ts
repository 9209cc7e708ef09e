import { describe, expect, it } from 'vitest';
import { pictureFinder } from '../../src/run/import/publish-pictures.ts';

const ADDRESS = 'https://images.example/shop/';

const find = pictureFinder({
  from: 'photos.zip',
  to: 'public/shop',
  address: ADDRESS,
  files: [
    { name: 'Photos/Lamp 1.JPG', published: '1.jpg', bytes: 1 },
    { name: 'Photos/old/lamp.jpg', published: '2.jpg', bytes: 1 },
    { name: 'Photos/new/lamp.jpg', published: '3.jpg', bytes: 1 },
    { name: 'Photos/copy.jpg', published: '1.jpg', bytes: 1 },
    { name: 'Café.png'.normalize('NFC'), published: '4.png', bytes: 1 },
  ],
  broken: [{ name: 'Photos/empty.jpg', problem: 'is empty' }],
});

describe('the address of a picture', () => {
  it.each([
    ['its path', 'Photos/Lamp 1.JPG', '1.jpg'],
    ['its name', 'Lamp 1.JPG', '1.jpg'],
    ['another case', 'lamp 1.jpg', '1.jpg'],
    ['a path of Windows', String.raw`C:\pictures\Lamp 1.JPG`, '1.jpg'],
    ['a web path', '/Photos/Lamp%201.JPG', '1.jpg'],
    ['its path where two files have the name', 'Photos/new/lamp.jpg', '3.jpg'],
    ['another form of an accent', 'Café.png'.normalize('NFD'), '4.png'],
    ['the address and its name', `${ADDRESS}Lamp%201.JPG`, '1.jpg'],
    ['its published address', `${ADDRESS}2.jpg`, '2.jpg'],
  ])('is found by %s', (_, written, published) => {
    expect(find(written)).toEqual({ address: `${ADDRESS}${published}` });
  });

  it.each([
    ['lamp.jpg', 'images: several pictures in photos.zip have the name lamp.jpg, left out'],
    ['empty.jpg', 'images: empty.jpg is empty, left out'],
    ['gone.jpg', 'images: gone.jpg is not in photos.zip, left out'],
    ['100%.jpg', 'images: 100%.jpg is not in photos.zip, left out'],
  ])('is not known for %s', (written, note) => {
    expect(find(written)).toEqual({ note });
  });

  it('is that of its path first, whatever else has the name', () => {
    const files = [
      { name: 'a.jpg', published: '1.jpg', bytes: 1 },
      { name: 'old/a.jpg', published: '2.jpg', bytes: 1 },
      { name: 'Foo.png', published: '3.png', bytes: 1 },
      { name: 'foo.png', published: '4.png', bytes: 1 },
    ];
    const among = pictureFinder({ from: 'photos', to: 'public', address: ADDRESS, files, broken: [] });
    const addresses = ['a.jpg', 'old/a.jpg', 'Foo.png', 'foo.png', 'images/a.jpg'].map(among);
    const published = ['1.jpg', '2.jpg', '3.png', '4.png', '1.jpg'];
    expect(addresses).toEqual(published.map((name) => ({ address: `${ADDRESS}${name}` })));
  });

  it('is not that of a picture in another folder', () => {
    expect(find('shirts/copy.jpg')).toEqual({
      note: 'images: shirts/copy.jpg is not in photos.zip, left out',
    });
  });

  it('is none of ours elsewhere on the web', () => {
    expect(find('https://other.example/lamp.jpg')).toBeUndefined();
    expect(find('ftp://other.example/copy.jpg')).toBeUndefined();
  });

  it('names twenty missing files, and then no more', () => {
    const notes = Array.from({ length: 30 }, (_, index) => find(`missing-${index}.jpg`));
    const kinds = new Set(notes.map((found) => (found !== undefined && 'note' in found ? found.note : '')));
    expect(kinds.size).toBeLessThanOrEqual(21);
    expect(notes.at(-1)).toEqual({ note: 'images: a further picture is not in photos.zip, left out' });
  });
});
