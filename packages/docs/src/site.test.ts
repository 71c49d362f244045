import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { linkResolver } from './links.ts'
import { renderMarkdown } from './markdown.ts'
import { outline } from './outline.ts'
import { buildSite } from './site.ts'

const root = join(import.meta.dirname, '../../..')
const target = (path: string, ...anchors: string[]) => ({ path, anchors: new Set(anchors) })
const render = (text: string) => renderMarkdown(text, (href) => href)

describe('the site', () => {
  let folder: string
  let pages: ReadonlyMap<string, string>

  // Fails on a link to a file or heading that does not exist.
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'offshoot-site-'))
    await buildSite(root, folder)
    const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.html'))
    pages = new Map(
      await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
    )
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  it('has every page of docs/ in its sidebar', async () => {
    const names = (await readdir(join(root, 'docs'))).filter((name) => name.endsWith('.md'))
    const listed = new Set(outline([], []).flatMap((section) => section.pages))
    expect(names.map((name) => `docs/${name}`).filter((name) => !listed.has(name))).toEqual([])
  })

  it('links only to what it has', () => {
    const broken: string[] = []
    for (const [name, html] of pages)
      for (const [, href = ''] of html.matchAll(/<(?:a|link|script|img)\b[^>]* (?:href|src)="([^"]+)"/g)) {
        if (/^(https?|mailto):/.test(href)) continue
        const { pathname: path, hash } = new URL(href, `http://x/${name}`)
        // The page at addresses that do not exist has absolute links.
        const pathname = name === '404.html' ? path.replace(/^\/docs\//, '/') : path
        if (pathname.startsWith('/assets/')) continue
        const target = pages.get(
          `${pathname === '/' ? 'index' : pathname.slice(1)}.html`.replace('.html.html', '.html'),
        )
        if (target?.includes(hash === '' ? '' : `id="${hash.slice(1)}"`) !== true) broken.push(`${name}: ${href}`)
      }
    expect(broken).toEqual([])
  })

  it('needs no inline script or style, and nothing of other hosts', () => {
    for (const [name, html] of pages) {
      expect([name, html.match(/<script(?![^>]* src=)|<style| style="| on[a-z]+="/)]).toEqual([name, null])
      expect([name, html.match(/<(?:script|link|img|iframe)\b[^>]*(?:src|href)="(?:https?:)?\/\//)]).toEqual([
        name,
        null,
      ])
    }
  })

  it('describes every route of the API', async () => {
    const api = [...pages].filter(([name]) => name.startsWith('api/')).map(([, html]) => html)
    const routes = api.flatMap((html) => [...html.matchAll(/<p class="route">/g)])
    expect(routes.length).toBeGreaterThan(200)
    const sandboxes = pages.get('api/sandboxes.html') ?? ''
    expect(sandboxes).toContain('<code>network.egress</code>')
    expect(sandboxes).toContain('1 to 64 characters')
  })
})

describe('a link', () => {
  const targets = new Map([
    ['docs/README.md', target('index')],
    ['docs/apps.md', target('apps', 'sleep')],
    ['docs/adr/0001-x.md', target('adr/0001-x')],
    ['SECURITY.md', target('security')],
  ])

  it.each([
    ['docs/apps.md', 'adr/0001-x.md', 'adr/0001-x'],
    ['docs/adr/0001-x.md', '../apps.md#sleep', '../apps#sleep'],
    ['docs/adr/0001-x.md', '../README.md', '../'],
    ['docs/apps.md', 'README.md', './'],
    ['docs/apps.md', '#sleep', '#sleep'],
    ['SECURITY.md', 'docs/apps.md', 'apps'],
    ['docs/apps.md', '../SECURITY.md', 'security'],
    ['docs/apps.md', 'https://example.com/x.md', 'https://example.com/x.md'],
  ])('in %s to %s becomes %s', (source, href, expected) => {
    const broken: string[] = []
    expect(linkResolver(source, targets, broken)(href)).toBe(expected)
    expect(broken).toEqual([])
  })

  it.each(['nowhere.md', 'apps.md#nowhere', '#nowhere', '../README.md', '/docs/apps.md'])('to %s is broken', (href) => {
    const broken: string[] = []
    linkResolver('docs/apps.md', targets, broken)(href)
    expect(broken).toEqual([`docs/apps.md: ${href}`])
  })
})

describe('Markdown', () => {
  it('shows markup as text', () => {
    expect(render('<script>alert(1)</script>').html).toBe('<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n')
    expect(render('[x](javascript:alert)').html).not.toContain('href')
    expect(render('```ts\n"</code><b>"\n```').html).not.toContain('<b>')
  })

  it('has no empty headings of columns', () => {
    const { html } = render('| | x |\n|---|---|\n| 1 | 2 |')
    expect(html).toContain('<tr>\n<td></td>\n<th>x</th>')
  })

  it('gives headings the anchors of a repository viewer', () => {
    const { headings, passages } = render('# `GET /x` & more\n\nText\n\n## Same\n\n## Same\n')
    expect(headings.map(({ anchor }) => anchor)).toEqual(['get-x--more', 'same', 'same-1'])
    expect(passages[0]).toMatchObject({ text: 'Text\n', heading: { text: 'GET /x & more' } })
  })
})
