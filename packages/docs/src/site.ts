/**
 * Builds the site of the documentation from the Markdown files of the repository and the OpenAPI document of control.
 * The pages need no server but one for files, and load nothing from other hosts.
 */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { apiPages } from './api/pages.ts'
import type { ApiDocument } from './api/document.ts'
import { assetPath, buildAssets } from './assets.ts'
import { escapeHtml } from './html.ts'
import { type SidebarSection, layOut } from './layout.ts'
import { BrokenLinks, linkResolver, type Target } from './links.ts'
import { codeBlock, renderMarkdown } from './markdown.ts'
import { outline, SHORT_TITLES } from './outline.ts'
import { NOT_FOUND, type Page } from './page.ts'
import { searchIndex } from './search-index.ts'

const run = promisify(execFile)
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024
const DECISIONS = 'docs/adr'
const EXAMPLES = 'docs/examples'
const LANGUAGES: Readonly<Record<string, string>> = { '.ts': 'typescript', '.py': 'python', '.yml': 'yaml' }

interface Image {
  /** In the repository. */
  readonly source: string
  /** On the site. */
  readonly path: string
  readonly content: Buffer
}

/**
 * Writes the site to a folder, which it makes.
 * @param root the repository
 * @throws BrokenLinks if a page links to a file or heading that is not part of the site
 */
export async function buildSite(root: string, folder: string): Promise<void> {
  const images = await imagesOf(root)
  const sections = await sectionsOf(root, images)
  const pages = sections.flatMap((section) => section.pages)
  const assets = await buildAssets(folder, searchIndex(pages))
  for (const { path, content } of images) await writeFile(join(folder, path), content)
  for (const page of [...pages, NOT_FOUND]) {
    const path = join(folder, `${page.path}.html`)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, layOut(page, sections, assets))
  }
}

/** The sidebar with its pages. @throws BrokenLinks */
async function sectionsOf(root: string, images: readonly Image[]): Promise<SidebarSection[]> {
  const planned = outline(await filesIn(root, DECISIONS), await filesIn(root, EXAMPLES))
  const sources = planned.flatMap((section) => section.pages)
  const texts = new Map(
    await Promise.all(sources.map(async (source) => [source, await readSource(root, source)] as const)),
  )
  const targets = new Map([...texts].map(([source, text]) => [source, targetOf(source, text)]))
  for (const { source, path } of images) targets.set(source, { path, anchors: new Set() })
  const broken: string[] = []
  const pageOf = (source: string): Page => renderPage(source, texts.get(source) ?? '', targets, broken)
  const sections = planned.map(({ title, pages, isLong = false }) => ({ title, pages: pages.map(pageOf), isLong }))
  if (broken.length > 0) throw new BrokenLinks(broken)
  const reference = sections.findIndex(({ title }) => title === 'Reference')
  const api = { title: 'API', pages: apiPages(await readApi(root)), isLong: true }
  return sections.toSpliced(reference + 1, 0, api)
}

/** The pictures in docs/, under names that change with their content. */
async function imagesOf(root: string): Promise<Image[]> {
  const sources = (await filesIn(root, 'docs')).filter((name) => /\.(svg|png)$/.test(name))
  return Promise.all(
    sources.map(async (source) => {
      const content = await readFile(join(root, source))
      return { source, path: assetPath(basename(source), content), content }
    }),
  )
}

async function filesIn(root: string, folder: string): Promise<string[]> {
  if (!existsSync(join(root, folder))) return []
  const names = (await readdir(join(root, folder))).toSorted()
  return names.map((name) => `${folder}/${name}`)
}

async function readSource(root: string, source: string): Promise<string> {
  return readFile(join(root, source), 'utf8')
}

/** Describes the routes of control, which needs no database and no agent for that. */
async function readApi(root: string): Promise<ApiDocument> {
  const program = join(root, 'bin/lib/openapi-document.mjs')
  const { stdout } = await run(process.execPath, [program], { cwd: root, maxBuffer: MAX_DOCUMENT_BYTES })
  return JSON.parse(stdout) as ApiDocument
}

function targetOf(source: string, text: string): Target {
  const isMarkdown = source.endsWith('.md')
  const headings = isMarkdown ? renderMarkdown(text, (href) => href).headings : []
  return { path: pathOf(source), anchors: new Set(headings.map(({ anchor }) => anchor)) }
}

function pathOf(source: string): string {
  if (source === 'docs/README.md') return 'index'
  if (source.startsWith(`${EXAMPLES}/`)) return `examples/${basename(source).replace('.', '-')}`
  return source
    .replace(/^docs\//, '')
    .replace(/\.md$/, '')
    .toLowerCase()
}

function renderPage(source: string, text: string, targets: ReadonlyMap<string, Target>, broken: string[]): Page {
  const path = pathOf(source)
  if (!source.endsWith('.md')) return sourcePage(source, path, text)
  const { html, headings, passages } = renderMarkdown(text, linkResolver(source, targets, broken))
  const title = headings[0]?.text ?? basename(source)
  const shortTitle = SHORT_TITLES[source] ?? title
  const beside = headings.filter(({ level }) => level === 2 || level === 3)
  return { source, path, title, shortTitle, html, headings: beside, passages, hasRequests: false }
}

/** A program that the documentation shows as a whole. */
function sourcePage(source: string, path: string, text: string): Page {
  const title = basename(source)
  const html = `<h1>${escapeHtml(title)}</h1>\n<p><code>${escapeHtml(source)}</code></p>\n${codeBlock(text, LANGUAGES[extname(source)] ?? '')}`
  const passages = [{ heading: { level: 1, text: title, anchor: '' }, text }]
  return { source, path, title, shortTitle: title, html, headings: [], passages, hasRequests: false }
}
