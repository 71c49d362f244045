import { escapeHtml } from '@offshoot/kit/escape-html'
/** What a page says happened, and what to do about it. */
export interface RefusalText {
  readonly status: number
  readonly message: string
  /** Text between backquotes is code. */
  readonly advice: string
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;margin:15vh auto;max-width:40rem;padding:0 1rem;color:#222;background:#fff}' +
  'h1{font-size:1.3rem}p{color:#555}code{padding:.15em .4em;border-radius:4px;color:#222;background:#eee;overflow-wrap:anywhere}' +
  'footer{margin-top:2.5rem;font-size:.875rem}' +
  '@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}p{color:#aaa}code{color:#ddd;background:#333}}'

/** For refusals that say nothing more to programs. */
const ADVICE: Readonly<Record<number, string>> = {
  400: 'Check the address. If it is right, the browser or something between it and this server sends a request that is not valid.',
  429: 'Wait a moment, then load this page again.',
  502: 'Look at the output of the server in the sandbox: it may have crashed, or it may not speak HTTP on this port.',
  503: 'Load this page again in a moment.',
  504: 'Load this page again. If it stays like this, look at what the server in the sandbox is doing.',
}

/** The page for browsers. It needs no script and no other file. */
export function refusalPage({ status, message, advice }: RefusalText, requestId: string): string {
  const title = escapeHtml(`${message[0]?.toUpperCase() ?? ''}${message.slice(1)}`)
  const todo = withCode(escapeHtml(advice === '' ? (ADVICE[status] ?? '') : advice))
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${status} ${title}</title>
<style>${STYLE}</style></head><body><main><h1>${title}</h1>${todo === '' ? '' : `<p>${todo}</p>`}</main>
<footer><p>Request id: <code>${escapeHtml(requestId)}</code>. Whoever runs this service can find the request by it.</p></footer></body></html>
`
}

function withCode(html: string): string {
  return html.replace(/`([^`]+)`/g, '<code>$1</code>')
}
