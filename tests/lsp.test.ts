/** @module-tag long */
import { CompletionRequest, DefinitionRequest, type Location } from 'vscode-languageserver-protocol'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openLanguageServer } from './setup/language-server.ts'
import { borrow, giveBack } from './setup/server-pool.ts'
import type { Offshoot } from './setup/offshoot.ts'
import { until } from './setup/until.ts'
import { TestSocket } from './setup/web-socket.ts'

/** Milliseconds for one answer. Servers start slowly on an emulated, busy CPU. */
const ANSWER_MS = 240_000
const TEST_MS = 2 * ANSWER_MS
const LANGUAGES = ['python', 'typescript', 'javascript', 'json', 'html', 'css', 'bash']
const WORKSPACE = '/home/user/workspace'

let offshoot: Offshoot
let id: string
beforeAll(async () => {
  offshoot = await borrow()
  id = (await offshoot.create({ template: 'base' })).id
})
afterAll(giveBack)

const lsp = (language: string) => `/v1/sandboxes/${id}/lsp/${language}`
const write = async (path: string, text: string) => {
  const { exit_code } = await offshoot.exec(id, `mkdir -p ${WORKSPACE} && cat > ${path}`, { stdin: text })
  expect(exit_code).toBe(0)
}
const noneRuns = async () =>
  until('no server left', async () => (await offshoot.exec(id, "pgrep -f '[l]anguage-servers'")).stdout === '')
const initialize = (language: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { processId: null, rootUri: `file://${WORKSPACE}`, capabilities: {}, language },
})

/** OFFSHOOT_LANGUAGES=all tests every server. TypeScript's takes a minute of an emulated CPU, and Bash's half of one. */
const isAll = process.env['OFFSHOOT_LANGUAGES'] === 'all'

describe('a language server', { timeout: TEST_MS }, () => {
  it('understands Python files: diagnostics, completion, definition', async () => {
    const [main, other] = [`${WORKSPACE}/main.py`, `${WORKSPACE}/shapes.py`]
    await write(other, 'class Circle:\n    def area(self) -> float:\n        return 3.14\n')
    const text = 'from shapes import Circle\n\nsize: int = "large"\nCircle().area\n'
    await write(main, text)
    const { client, socket } = await openLanguageServer(offshoot, id, 'python')
    const { capabilities } = await client.initialize(WORKSPACE)
    expect(capabilities.completionProvider).toBeDefined()
    await client.open(main, 'python', text)
    const [diagnostic] = await client.diagnostics(main)
    expect(diagnostic).toMatchObject({ range: { start: { line: 2 } }, message: expect.stringContaining('"int"') })
    const at = { textDocument: { uri: `file://${main}` }, position: { line: 3, character: 11 } }
    const definition = await client.connection.sendRequest(DefinitionRequest.type, at)
    expect(definition).toMatchObject([{ uri: `file://${other}`, range: { start: { line: 1 } } }])
    const completion = await client.connection.sendRequest(CompletionRequest.type, at)
    expect(JSON.stringify(completion)).toContain('"area"')
    await client.shutDown()
    expect(await socket.hungUp()).toEqual({ code: 1000, reason: '' })
    expect(socket.frames.at(-1)).toEqual({ exit: 0 })
  })

  it.runIf(isAll)('understands TypeScript files: diagnostics, completion, definition', async () => {
    const [main, other] = [`${WORKSPACE}/main.ts`, `${WORKSPACE}/shapes.ts`]
    await write(other, 'export class Circle {\n  area(): number {\n    return 3.14\n  }\n}\n')
    const text = "import { Circle } from './shapes'\n\nexport const size: number = 'large'\nnew Circle().area\n"
    await write(main, text)
    const { client, socket } = await openLanguageServer(offshoot, id, 'typescript')
    await client.initialize(WORKSPACE)
    await client.open(main, 'typescript', text)
    const [diagnostic] = await client.diagnostics(main)
    expect(diagnostic).toMatchObject({ range: { start: { line: 2 } }, message: expect.stringContaining("'number'") })
    const at = { textDocument: { uri: `file://${main}` }, position: { line: 3, character: 15 } }
    const definition = (await client.connection.sendRequest(DefinitionRequest.type, at)) as Location[]
    expect(definition).toMatchObject([{ uri: `file://${other}`, range: { start: { line: 1 } } }])
    const completion = await client.connection.sendRequest(CompletionRequest.type, at)
    expect(JSON.stringify(completion)).toContain('"area"')
    // After an abrupt disconnect, the server and its child processes must end.
    await socket.close()
    await noneRuns()
  })

  // Other tests cover Python and TypeScript.
  it.each(isAll ? LANGUAGES.slice(2) : ['json'])('for %s answers one JSON message a frame', async (language) => {
    const socket = await TestSocket.open(offshoot, `${lsp(language)}?cwd=/tmp&user=user`)
    socket.send(initialize(language))
    const answered = () => socket.frames.find((frame) => frame.id === 1 && frame.method === undefined)
    const answer = await until('the answer', answered, ANSWER_MS)
    expect(answer.result.capabilities).toBeTypeOf('object')
    const { stdout } = await offshoot.exec(
      id,
      "for p in $(pgrep -f '[l]anguage-servers'); do stat -c %U /proc/$p; done | sort -u",
    )
    expect(stdout).toBe('user\n')
    expect(socket.bytes).toHaveLength(0)
    await socket.close()
    await noneRuns()
  })
})

describe('a session', { timeout: TEST_MS }, () => {
  it('may have base protocol in text frames, cut anywhere, and hears that the server has ended', async () => {
    const socket = await TestSocket.open(offshoot, lsp('json'))
    const text: string[] = []
    socket.socket.removeAllListeners('message').on('message', (data) => text.push((data as Buffer).toString()))
    const content = JSON.stringify(initialize('json'))
    for (const char of `Content-Length: ${content.length}\r\n\r\n${content}`) socket.socket.send(char)
    const answer = await until('the answer', () => text.find((frame) => frame.includes('"id":1')), ANSWER_MS)
    const [header, body = ''] = answer.split('\r\n\r\n')
    expect(header).toBe(`Content-Length: ${Buffer.byteLength(body)}`)
    expect(JSON.parse(body)).toMatchObject({ jsonrpc: '2.0', id: 1, result: { capabilities: {} } })
    // When a server dies, the client gets its exit code.
    await offshoot.exec(id, 'pkill -TERM -f vscode-json')
    expect(await socket.hungUp()).toEqual({ code: 1000, reason: '' })
    expect(text.at(-1)).toBe('{"exit":143}')
  })

  describe('with a server of a template of its own', () => {
    let other: string
    /** Installs a script as the server of `GET lsp/bash`. */
    const install = async (script: string) => {
      const folder = '/usr/local/lib/language-servers'
      await offshoot.exec(other, `mkdir -p ${folder} && cat >${folder}/bash && chmod +x ${folder}/bash`, {
        stdin: `#!/bin/sh\n${script}\n`,
      })
    }
    const open = async () => TestSocket.open(offshoot, `/v1/sandboxes/${other}/lsp/bash`)
    beforeAll(async () => {
      other = (await offshoot.create()).id
    })
    afterAll(async () => offshoot.delete(other))

    it.each([
      [
        'Content-Length: 2\r\n\r\n{}',
        [{ stream: 'stderr', line: 'one' }, { stream: 'stderr', line: 'rest' }, { exit: 7 }],
      ],
      ['{}', [{ a: 'ü' }, { exit: 7 }]],
    ])('answers in kind to %j, tells what it said on stderr, and its exit code', async (first, frames) => {
      await install(
        'read -r line; printf "one\nrest" >&2; printf "Content-Length: 10\r\n\r\n{\\"a\\":\\"ü\\"}"; exit 7',
      )
      const socket = await open()
      socket.send(first.startsWith('{') ? first : Buffer.from(first))
      expect(await socket.hungUp()).toEqual({ code: 1000, reason: '' })
      expect(socket.bytes.toString()).toBe(first.startsWith('{') ? '' : 'Content-Length: 10\r\n\r\n{"a":"ü"}')
      expect(socket.frames.toSorted((a, b) => ('exit' in a ? 1 : 'exit' in b ? -1 : 0))).toEqual(frames)
      expect(socket.frames.at(-1)).toEqual({ exit: 7 })
    })

    it('is closed when its server writes no base protocol', async () => {
      await install('read -r line; echo garbage; exec sleep 7301')
      const socket = await open()
      socket.send('{}')
      expect(await socket.hungUp()).toEqual({ code: 1011, reason: 'not a header: "garbage\\n"' })
      await until('no server left', async () => (await offshoot.exec(other, "pgrep -f '[s]leep 7301'")).stdout === '')
    })

    it.each([
      ['hello', 1007, 'not a header: "hello '],
      ['Content-Length: 99999999999\r\n\r\n', 1009, 'message over'],
      ['Content-Length: x\r\n\r\n', 1007, 'bad Content-Length'],
    ])('is closed when the first frame is %j', async (frame, code, reason) => {
      await install('exec sleep 7302')
      const socket = await open()
      socket.send(`${frame} `)
      const closed = await socket.hungUp()
      expect([closed.code, closed.reason.slice(0, reason.length)]).toEqual([code, reason])
      await until('no server left', async () => (await offshoot.exec(other, "pgrep -f '[s]leep 7302'")).stdout === '')
    })

    it('carries more than it holds, to a client that reads late', async () => {
      await install('exec cat')
      const socket = await open()
      const messages = Array.from({ length: 60 }, (_, i) => ({ i, text: 'x'.repeat(500_000) }))
      socket.socket.pause()
      for (const message of messages) socket.send(message)
      // The agent's window is limited, so the rest stays in this socket's buffer until the client reads.
      await until('the first of it sent', () => socket.socket.bufferedAmount < 29_000_000)
      socket.socket.resume()
      await until('all of it back', () => socket.frames.length === messages.length, ANSWER_MS)
      expect(socket.frames).toEqual(messages)
      await socket.close()
    })
  })

  it('is refused before the upgrade when there is no such server, folder or upgrade', async () => {
    const upgrade = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
    }
    const refused = async (path: string, headers = upgrade as Record<string, string>) => {
      const { status, body } = await offshoot.request('GET', path, { headers })
      return [status, body.error, body.detail]
    }
    expect(await refused(lsp('cobol'))).toEqual([404, 'not found', `supported languages: ${LANGUAGES.join(', ')}`])
    expect(await refused(lsp('python'), {})).toEqual([426, 'upgrade required', expect.any(String)])
    expect(await refused(`${lsp('python')}?cwd=/nowhere`)).toEqual([
      400,
      expect.stringContaining('/nowhere'),
      undefined,
    ])
    expect(await refused(`${lsp('python')}?user=nobody-here`)).toEqual([400, expect.any(String), undefined])
    const { id: other } = await offshoot.create({ template: 'minimal' })
    expect(await refused(`/v1/sandboxes/${other}/lsp/python`)).toEqual([
      404,
      'not found',
      'the template minimal has no language server for python',
    ])
    await offshoot.delete(other)
  })

  it('is offered for the languages that are listed', async () => {
    const { status, body } = await offshoot.request('GET', '/v1/lsp/languages')
    expect([status, body]).toEqual([200, LANGUAGES])
    expect((await offshoot.request('GET', '/v1/lsp/languages', { headers: { authorization: '' } })).status).toBe(401)
  })
})
