import { posix } from 'node:path'
import { relativeAddress } from './page.ts'

/** What a page can link to: its address on the site, and its anchors. */
export interface Target {
  readonly path: string
  readonly anchors: ReadonlySet<string>
}

/** A link that leads nowhere, with the page it is on. */
export class BrokenLinks extends Error {
  override readonly name = 'BrokenLinks'

  constructor(links: readonly string[]) {
    super(`Links that lead nowhere:\n${links.join('\n')}`)
  }
}

/**
 * Resolves the links of one page. Those between files of the repository become links between pages of the site.
 * @param targets every page by its file in the repository
 * @param broken gets the links that lead nowhere
 */
export function linkResolver(source: string, targets: ReadonlyMap<string, Target>, broken: string[]) {
  const from = targets.get(source)?.path ?? ''
  return (href: string): string => {
    if (/^(https?|mailto):/.test(href)) return href
    const [file = '', anchor] = href.split('#')
    const target = targets.get(file === '' ? source : posix.join(posix.dirname(source), file))
    if (target === undefined || (anchor !== undefined && !target.anchors.has(anchor))) {
      broken.push(`${source}: ${href}`)
      return href
    }
    const hash = anchor === undefined ? '' : `#${anchor}`
    return file === '' ? hash : `${relativeAddress(from, target.path)}${hash}`
  }
}
