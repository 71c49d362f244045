const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** `<name>-<workspace slug>` as one label of a host name (RFC 1035, 2.3.1); `null` if that is no valid label. */
export function hostOfName(name: string, slug: string): string | null {
  const label = `${name}-${slug}`.toLowerCase().replaceAll(/[ ._]+/g, '-')
  return LABEL.test(label) ? label : null
}
