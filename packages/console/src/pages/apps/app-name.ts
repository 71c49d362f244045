/** A name for an app, from the address of its repository. */
export function appNameOf(gitUrl: string): string {
  const last =
    gitUrl
      .trim()
      .replace(/\/+$/, '')
      .replace(/\.git$/, '')
      .split('/')
      .at(-1) ?? ''
  return last
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
    .slice(0, 64)
}
