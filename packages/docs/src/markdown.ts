import GithubSlugger from 'github-slugger'
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import json from 'highlight.js/lib/languages/json'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import yaml from 'highlight.js/lib/languages/yaml'
import MarkdownIt, { type Token } from 'markdown-it'
import { escapeHtml } from './html.ts'

const LANGUAGES = { bash, json, python, sql, typescript, yaml }
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language)

export interface Heading {
  readonly level: number
  readonly text: string
  /** The anchor that a repository viewer gives the heading, too. */
  readonly anchor: string
}

/** The text below one heading, for the search. */
export interface Passage {
  readonly heading: Heading
  readonly text: string
}

export interface RenderedMarkdown {
  readonly html: string
  readonly headings: readonly Heading[]
  readonly passages: readonly Passage[]
}

/** The address on the site of what a page links to. @throws if there is no such page */
export type ResolveLink = (href: string) => string

const renderer = new MarkdownIt({ html: false })

// Wide tables and code scroll in a box of their own, which the keyboard can reach.
renderer.renderer.rules['table_open'] = () =>
  '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'
renderer.renderer.rules['table_close'] = () => '</table></div>\n'
renderer.renderer.rules['fence'] = (tokens, index) => {
  const { content, info } = tokens[index] as Token
  return codeBlock(content, info.trim())
}
renderer.renderer.rules['code_block'] = (tokens, index) => codeBlock((tokens[index] as Token).content, '')

/** @throws an error that names the link that resolves to nothing */
export function renderMarkdown(source: string, resolveLink: ResolveLink): RenderedMarkdown {
  const tokens = renderer.parse(source, {})
  const slugger = new GithubSlugger()
  const headings: Heading[] = []
  const passages: { heading: Heading; text: string }[] = []
  tokens.forEach((token, index) => {
    if (token.type === 'heading_open') {
      const text = plainText(tokens[index + 1])
      const heading = { level: Number(token.tag.slice(1)), text, anchor: slugger.slug(text) }
      token.attrSet('id', heading.anchor)
      headings.push(heading)
      passages.push({ heading, text: '' })
      return
    }
    // A screen reader would announce an empty heading of a column.
    if (token.type === 'th_open' && tokens[index + 1]?.content === '')
      for (const part of [token, tokens[index + 2]]) if (part !== undefined) part.tag = 'td'
    for (const child of token.children ?? []) resolveIn(child, resolveLink)
    const passage = passages.at(-1)
    if (passage === undefined || tokens[index - 1]?.type === 'heading_open') return
    const text = token.type === 'inline' ? plainText(token) : token.content
    if (text !== '') passage.text += `${text}\n`
  })
  return { html: renderer.renderer.render(tokens, renderer.options, {}), headings, passages }
}

function resolveIn(token: Token, resolveLink: ResolveLink): void {
  const attribute = token.type === 'link_open' ? 'href' : token.type === 'image' ? 'src' : null
  if (attribute === null) return
  token.attrSet(attribute, resolveLink(String(token.attrGet(attribute))))
}

/** What a reader sees of inline text, without its marks. */
function plainText(token: Token | undefined): string {
  const children = token?.children ?? []
  return children
    .map((child) => (child.type === 'softbreak' ? ' ' : child.type === 'image' ? '' : child.content))
    .join('')
}

export function codeBlock(code: string, language: string): string {
  return `<pre tabindex="0"><code>${highlighted(code, language)}</code></pre>\n`
}

function highlighted(code: string, language: string): string {
  if (hljs.getLanguage(language) === undefined) return escapeHtml(code)
  return hljs.highlight(code, { language }).value
}
