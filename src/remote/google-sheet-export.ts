/** The id of a document, or of its published version. */
const LINK =
  /^https:\/\/docs\.google\.com\/spreadsheets\/(?:u\/\d+\/)?d\/((?:e\/)?[\w-]+)(?:\/(\w*))?(?:[?#]|$)/;

/**
 * The CSV address of a Google Sheet that is shared by link: its link from the browser (`…/edit#gid=0`) leads to a
 * page. The sheet is the one of the link's `gid`, else the first. Any other address is returned unchanged.
 */
export function googleSheetExport(address: string): string {
  const [link, id = '', page = ''] = LINK.exec(address) ?? [];
  if (link === undefined || !['', 'edit', 'view', 'htmlview', 'pubhtml', 'preview', 'copy'].includes(page))
    return address;
  const gid = /[?&#]gid=(\d+)/.exec(address)?.[1];
  const sheet = gid === undefined ? '' : `&gid=${gid}`;
  const base = `https://docs.google.com/spreadsheets/d/${id}`;
  return id.startsWith('e/')
    ? `${base}/pub?output=csv&single=true${sheet}`
    : `${base}/export?format=csv${sheet}`;
}

/** What to do if a Google Sheet cannot be read; undefined for any other address. */
export function googleSheetHint(location: string): string | undefined {
  if (!LINK.test(location)) return undefined;
  return 'Share it by link: in Google Sheets choose Share, then under General access "Anyone with the link" as Viewer. If it must stay private, use a service account: `auth: { serviceAccount: … }` (docs/sources.md).';
}
