import { describe, expect, it } from 'vitest'
import { argvOf, execBody } from './exec.ts'
import { stdinBody, waitQuery } from './background-exec.ts'

const refusal = (body: unknown) => execBody.safeParse(body).error?.issues[0]?.message ?? null

describe('the body of an exec', () => {
  it.each([
    [{}, 'cmd required'],
    [{ cmd: '' }, 'cmd required'],
    [{ cmd: null }, 'cmd required'],
    [{ cmd: 7 }, 'cmd must be a string'],
    [{ cmd: 'a\0' }, 'cmd must not contain NUL'],
    [{ cmd: 'x'.repeat(131_072) }, 'cmd must be at most 131071 characters'],
    [{ cmd: 'ä'.repeat(70_000) }, 'cmd must be at most 131071 bytes'],
    [{ argv: 'ls' }, 'argv must be an array of strings'],
    [{ argv: [] }, 'argv must not be empty'],
    [{ argv: [''] }, 'argv must begin with a program'],
    [{ argv: [1] }, 'argv must be a string'],
    [{ argv: ['ls', 'a\0'] }, 'argv must not contain NUL'],
    [{ argv: Array.from({ length: 4097 }, () => 'a') }, 'argv must have at most 4096 entries'],
    [{ argv: ['ls'], cmd: 'ls' }, 'cmd and argv exclude each other'],
    [{ cmd: 'cat', encoding: 'hex' }, 'encoding must be "utf8" or "base64"'],
    [{ cmd: 'cat', encoding: 'base64', stdin: 'no base64' }, 'stdin must be base64'],
    [{ cmd: 'cat', encoding: 'base64', stdin: 'YQ' }, 'stdin must be base64'],
    [{ cmd: 'cat', stdin_open: 1, background: true }, 'stdin_open must be a boolean'],
    [{ cmd: 'cat', backpressure: true }, 'backpressure is for background commands'],
    [{ cmd: 'cat', stdin_open: true }, 'stdin_open is for background commands'],
    [{ cmd: 'cat', pty: { rows: 1, cols: 1 } }, 'pty is for background commands'],
    [{ cmd: 'cat', pty: [], background: true }, 'pty must be an object of rows and cols'],
    [{ cmd: 'cat', pty: { rows: 0, cols: 1 }, background: true }, 'rows must be >= 1'],
  ])('%j is refused', (body, expected) => {
    expect(refusal(body)).toBe(expected)
  })

  it('names a program with its arguments, or a text for a shell', () => {
    expect(argvOf(execBody.parse({ argv: ['ls', '', '-l'] }))).toEqual(['ls', '', '-l'])
    expect(argvOf(execBody.parse({ cmd: 'ls -l', argv: null }))).toEqual(['/bin/sh', '-c', 'ls -l'])
    expect(refusal({ cmd: 'cat', encoding: 'base64', stdin: 'YQ==', background: true, stdin_open: true })).toBeNull()
  })
})

it.each([
  [{}, 'stdin or eof required'],
  [{ eof: false }, 'stdin or eof required'],
  [{ stdin: 1 }, 'stdin must be a string'],
  [{ stdin: '%', encoding: 'base64' }, 'stdin must be base64'],
  [{ stdin: '%' }, undefined],
  [{ eof: true }, undefined],
])('input %j for a background command', (body, expected) => {
  expect(stdinBody.safeParse(body).error?.issues[0]?.message).toBe(expected)
})

it.each(['0', '301', '-1', '1.5', 'x', ''])('a wait of %j seconds is refused', (seconds) => {
  expect(waitQuery.safeParse({ timeout_seconds: seconds }).error?.issues[0]?.message).toBe(
    'timeout_seconds must be an integer from 1 to 300',
  )
})
