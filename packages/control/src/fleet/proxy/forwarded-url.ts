/**
 * A request's path and query, byte for byte, without `access_token`. A path in a query may contain invalid UTF-8, which
 * any parser would lose.
 */
export function forwardedUrl(url: string): string {
  const at = url.indexOf('?')
  if (at === -1) return url
  const kept = url
    .slice(at + 1)
    .split('&')
    .filter((part) => !isAccessToken(part))
  return kept.length === 0 ? url.slice(0, at) : `${url.slice(0, at)}?${kept.join('&')}`
}

/** Compares the decoded name, because the route's own parser decodes it too. */
function isAccessToken(part: string): boolean {
  const [name = ''] = part.split('=', 1)
  try {
    return decodeURIComponent(name) === 'access_token'
  } catch {
    return false
  }
}
