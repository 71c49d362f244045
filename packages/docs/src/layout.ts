import { escapeHtml } from './html.ts'
import { addressIn, type Page } from './page.ts'

export interface SidebarSection {
  readonly title: string
  readonly pages: readonly Page[]
  readonly isLong: boolean
}

/** Addresses of files below the root of the site. */
export interface Assets {
  readonly search: string
  readonly style: string
  readonly theme: string
  readonly site: string
  readonly requests: string
}

/** The page as a whole. Every script and style is a file, so a strict content security policy allows it. */
export function layOut(page: Page, sections: readonly SidebarSection[], assets: Assets): string {
  const to = (path: string): string => escapeHtml(addressIn(page, path))
  const scripts = [assets.site, ...(page.hasRequests ? [assets.requests] : [])]
  return `<!doctype html>
<html lang="en" data-root="${to('index')}" data-search="${to(assets.search)}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(page.title)} · Offshoot</title>
<link rel="icon" href="${to('assets/icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${to(assets.style)}">
<script src="${to(assets.theme)}"></script>
${scripts.map((script) => `<script type="module" src="${to(script)}"></script>`).join('\n')}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<button type="button" class="icon" id="menu" aria-controls="sidebar" aria-expanded="false">Menu</button>
<a class="brand" href="${to('index')}">Offshoot</a>
<button type="button" id="search">Search <kbd>/</kbd></button>
<button type="button" class="icon" id="theme">Dark or light</button>
</header>
<div class="columns">
<nav id="sidebar" aria-label="Pages">
<a href="/">Console</a>
${sections.map((section) => sidebarSection(section, page, to)).join('\n')}
</nav>
<main id="content" tabindex="-1">
${page.html}
${neighbours(page, sections, to)}
</main>
${onThisPage(page)}
</div>
<dialog id="finder" aria-label="Search the documentation">
<form method="dialog" role="search">
<input type="search" id="query" aria-label="Search" placeholder="Search" autocomplete="off" spellcheck="false">
<button>Close</button>
</form>
<p id="found" role="status"></p>
<ul id="results"></ul>
</dialog>
</body>
</html>
`
}

function sidebarSection({ title, pages, isLong }: SidebarSection, page: Page, to: (path: string) => string): string {
  const links = pages.map((each) => {
    const current = each === page ? ' aria-current="page"' : ''
    return `<li><a href="${to(each.path)}"${current}>${escapeHtml(each.shortTitle)}</a></li>`
  })
  const open = !isLong || pages.includes(page) ? ' open' : ''
  return `<details${open}><summary>${escapeHtml(title)}</summary><ul>${links.join('')}</ul></details>`
}

function onThisPage({ headings }: Page): string {
  if (headings.length < 2) return ''
  const links = headings.map(
    ({ level, text, anchor }) =>
      `<li class="level-${level}"><a href="#${escapeHtml(anchor)}">${escapeHtml(text)}</a></li>`,
  )
  return `<nav id="contents" aria-label="On this page"><p>On this page</p><ul>${links.join('')}</ul></nav>`
}

function neighbours(page: Page, sections: readonly SidebarSection[], to: (path: string) => string): string {
  const pages = sections.flatMap((section) => section.pages)
  const place = pages.indexOf(page)
  if (place === -1) return ''
  const link = (other: Page | undefined, rel: 'prev' | 'next', word: string): string =>
    other === undefined
      ? ''
      : `<a rel="${rel}" href="${to(other.path)}"><span>${word}</span> ${escapeHtml(other.shortTitle)}</a>`
  const before = link(pages[place - 1], 'prev', 'Previous')
  return `<nav class="neighbours" aria-label="Previous and next page">${before}${link(pages[place + 1], 'next', 'Next')}</nav>`
}
