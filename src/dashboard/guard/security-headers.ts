/** Pages load their own stylesheets, script and pictures, talk to their own server, and nothing else. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** On every answer. What may be kept by browsers says so itself, as the stylesheets do. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': PAGE_POLICY,
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // Not `no-referrer`: with that, browsers send forms with the origin `null`.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** Where browsers reach the dashboard by https, they are to do so ever after. */
export const HTTPS_ONLY = 'max-age=31536000';
