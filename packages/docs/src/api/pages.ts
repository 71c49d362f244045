import { escapeHtml } from '../html.ts'
import type { Passage } from '../markdown.ts'
import type { Page } from '../page.ts'
import type { ApiDocument } from './document.ts'
import { anchorOf, renderOperation, type Route } from './operation.ts'

/** One page for each group of routes. */
export function apiPages(document: ApiDocument): Page[] {
  return [...groups(document)].map(([title, routes]) => {
    const intro = `<h1>API: ${escapeHtml(title)}</h1>\n${routeList(routes)}`
    const html = `${intro}\n${routes.map((route) => renderOperation(document, route)).join('\n')}`
    const headings = routes.map((route) => ({ level: 2, text: route.operation.summary, anchor: anchorOf(route) }))
    return {
      source: null,
      path: `api/${title.toLowerCase().replaceAll(' ', '-')}`,
      title: `API: ${title}`,
      shortTitle: title,
      html,
      headings,
      passages: routes.map((route, index): Passage => {
        const heading = headings[index] ?? { level: 2, text: '', anchor: '' }
        return { heading, text: `${route.method} ${route.path} ${route.operation.description ?? ''}` }
      }),
      hasRequests: true,
    }
  })
}

function groups({ paths }: ApiDocument): Map<string, Route[]> {
  const found = new Map<string, Route[]>()
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations)) {
      const [title = 'Service'] = operation.tags
      const routes = found.get(title) ?? []
      routes.push({ method: method.toUpperCase(), path, operation })
      found.set(title, routes)
    }
  return found
}

function routeList(routes: readonly Route[]): string {
  const rows = routes.map((route) => {
    const name = `<span class="method">${route.method}</span> <code>${escapeHtml(route.path)}</code>`
    return `<li><a href="#${anchorOf(route)}">${name}</a> ${escapeHtml(route.operation.summary)}</li>`
  })
  return `<ul class="routes">${rows.join('')}</ul>`
}
