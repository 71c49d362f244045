// Of the pages of the API: forms that send requests to the server of the page.
import type { SendableRequest } from '../src/api/operation.ts'
import { element, find } from './element.ts'

const KEY = 'offshoot-key'
const MAX_SHOWN_CHARS = 200_000

type Values = ReadonlyMap<string, HTMLInputElement>

interface Form {
  readonly request: SendableRequest
  readonly values: Values
  readonly text: HTMLTextAreaElement | null
  readonly file: HTMLInputElement | null
  readonly command: HTMLElement
}

function addKeyField(): void {
  const input = element('input', {
    type: 'password',
    id: 'key',
    autocomplete: 'off',
    value: sessionStorage.getItem(KEY) ?? '',
  })
  input.addEventListener('input', () => sessionStorage.setItem(KEY, input.value.trim()))
  const label = element('label', { htmlFor: 'key' }, 'API key or token')
  const hint = 'Kept in this tab. Leave it empty to use the session of the console.'
  const box = element('div', { className: 'key' }, label, input, element('p', {}, hint))
  find('main h1', HTMLElement).after(box)
}

/** The key of the reader, or else the token of the session that the console has. */
async function credential(): Promise<string | null> {
  const key = sessionStorage.getItem(KEY)
  if (key !== null && key !== '') return key
  const response = await fetch('/api/auth/token').catch(() => null)
  if (response?.ok !== true) return null
  const { token } = (await response.json()) as { token?: string }
  return token ?? null
}

function fill(details: HTMLDetailsElement): void {
  const request = JSON.parse(details.dataset['request'] ?? '') as SendableRequest
  const place = details.dataset['place'] ?? ''
  const values = new Map<string, HTMLInputElement>()
  const rows = request.parameters.map((parameter) => {
    const id = `${place}-${parameter.name}`
    const input = element('input', { id, required: parameter.required, autocomplete: 'off', spellcheck: false })
    values.set(parameter.name, input)
    return [element('label', { htmlFor: id }, `${parameter.name} (${parameter.in})`), input]
  })
  const bodyId = `${place}-body`
  const isFile = request.bodyType !== null && request.bodyType !== 'application/json'
  const text =
    request.bodyType === null || isFile
      ? null
      : element('textarea', {
          id: bodyId,
          value: request.body,
          rows: request.body.split('\n').length + 1,
          spellcheck: false,
        })
  const file = isFile ? element('input', { id: bodyId, type: 'file' }) : null
  const body = text ?? file
  const send = element('button', { type: 'submit' }, 'Send')
  const stop = element('button', { type: 'button', hidden: true }, 'Stop')
  const command = element('code')
  const answer = element('div', { className: 'answer', role: 'status' })
  const form = element('form', { noValidate: false }, ...rows.flat())
  if (body !== null) form.append(element('label', { htmlFor: bodyId }, `Body, ${request.bodyType}`), body)
  form.append(element('pre', { tabIndex: 0 }, command), element('p', {}, send, ' ', stop), answer)
  const filled: Form = { request, values, text, file, command }
  const update = (): void => {
    command.textContent = curl(filled)
  }
  form.addEventListener('input', update)
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void sendAndShow(filled, answer, send, stop)
  })
  update()
  details.append(form)
}

function target({ request, values }: Form): string {
  const path = request.path.replace(/\{(\w+)\}/g, (_all, name: string) => {
    const value = values.get(name)?.value ?? ''
    return name === 'path' ? value.split('/').map(encodeURIComponent).join('/') : encodeURIComponent(value)
  })
  const query = new URLSearchParams()
  for (const { name, in: place } of request.parameters) {
    const value = values.get(name)?.value ?? ''
    if (place === 'query' && value !== '') query.set(name, value)
  }
  return `${location.origin}${path}${query.size > 0 ? `?${query}` : ''}`
}

function headersOf({ request, values }: Form): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { name, in: place } of request.parameters) {
    const value = values.get(name)?.value ?? ''
    if (place === 'header' && value !== '') headers[name] = value
  }
  return headers
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

function curl(form: Form): string {
  const { request, text, file } = form
  const words = [`curl ${request.method === 'GET' ? '' : `-X ${request.method} `}${quoted(target(form))}`]
  if (request.needsKey) words.push('-H "Authorization: Bearer $KEY"')
  for (const [name, value] of Object.entries(headersOf(form))) words.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (text !== null && text.value.trim() !== '') words.push(`-d ${quoted(text.value)}`)
  if (file !== null) words.push(`-H ${quoted(`Content-Type: ${request.bodyType}`)} --data-binary @FILE`)
  return words.join(' \\\n  ')
}

async function sendAndShow(
  form: Form,
  answer: HTMLElement,
  send: HTMLButtonElement,
  stop: HTMLButtonElement,
): Promise<void> {
  const aborter = new AbortController()
  const abort = (): void => aborter.abort()
  stop.addEventListener('click', abort)
  ;[send.disabled, stop.hidden] = [true, false]
  try {
    await exchange(form, answer, aborter.signal)
  } catch (error) {
    const sentence = aborter.signal.aborted ? 'Stopped.' : `No answer: ${(error as Error).message}`
    answer.append(element('p', {}, sentence))
  } finally {
    stop.removeEventListener('click', abort)
    ;[send.disabled, stop.hidden] = [false, true]
  }
}

async function exchange(form: Form, answer: HTMLElement, signal: AbortSignal): Promise<void> {
  answer.replaceChildren()
  const { request, text, file } = form
  const headers = new Headers(headersOf(form))
  const key = request.needsKey ? await credential() : null
  if (request.needsKey && key === null) {
    answer.append(element('p', {}, 'Paste a key at the top of the page, or sign in to the console first.'))
    return
  }
  if (key !== null) headers.set('authorization', `Bearer ${key}`)
  const body = bodyOf(text, file)
  if (body !== undefined && request.bodyType !== null && request.bodyType !== 'multipart/form-data')
    headers.set('content-type', request.bodyType)
  const startedMs = performance.now()
  const response = await fetch(target(form), {
    method: request.method,
    headers,
    signal,
    ...(body !== undefined && { body }),
  })
  const line = `${response.status} ${response.statusText}, ${Math.round(performance.now() - startedMs)} ms`
  const id = response.headers.get('x-request-id')
  answer.append(element('p', {}, element('strong', {}, line), id === null ? '' : `, request ${id}`))
  await showBody(response, answer)
}

function bodyOf(text: HTMLTextAreaElement | null, file: HTMLInputElement | null): BodyInit | undefined {
  if (text !== null) return text.value.trim() === '' ? undefined : text.value
  const [chosen] = file?.files ?? []
  return chosen
}

/** Shows a text while it arrives, so that streams can be followed. */
async function showBody(response: Response, answer: HTMLElement): Promise<void> {
  const type = response.headers.get('content-type') ?? ''
  if (response.body === null || response.status === 204) return
  if (/octet-stream|x-tar/.test(type)) {
    const blob = await response.blob()
    answer.append(element('p', {}, `${blob.size} bytes of ${type}`))
    return
  }
  const code = element('code')
  answer.append(element('pre', { tabIndex: 0 }, code))
  let shown = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    shown += chunk
    if (shown.length > MAX_SHOWN_CHARS) shown = `${shown.slice(0, MAX_SHOWN_CHARS)}\n… the rest is not shown`
    code.textContent = shown
    if (shown.length > MAX_SHOWN_CHARS) return
  }
  if (type.includes('json')) code.textContent = indented(shown)
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text // a list of JSON lines
  }
}

addKeyField()
for (const [index, details] of document.querySelectorAll<HTMLDetailsElement>('details.send').entries()) {
  details.dataset['place'] = `send-${index}`
  details.addEventListener('toggle', () => details.querySelector('form') ?? fill(details))
}
