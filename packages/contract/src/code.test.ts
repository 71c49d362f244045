import { describe, expect, it } from 'vitest'
import { codeBody, newCodeContext } from './code.ts'

const refusalOf = (schema: typeof codeBody | typeof newCodeContext, body: unknown) =>
  schema.safeParse(body).error?.issues[0]?.message

describe('the body of code', () => {
  it('needs code alone', () => {
    expect(codeBody.parse({ code: '1' })).toEqual({ code: '1' })
    expect(codeBody.parse({ code: '1', language: null, context_id: null, env: null })).toEqual({ code: '1' })
  })

  it.each([
    [{}, 'code required'],
    [{ code: '' }, 'code required'],
    [{ code: 7 }, 'code must be a string'],
    [{ code: 'x'.repeat(600_000) }, 'code must be at most 524288 characters'],
    [{ code: '1', language: 'cobol' }, 'language must be one of python, javascript, typescript, bash'],
    [{ code: '1', language: 7 }, 'language must be one of python, javascript, typescript, bash'],
    [{ code: '1', context_id: 'a/b' }, 'context_id must be the id of a context'],
    [{ code: '1', context_id: 7 }, 'context_id must be a string'],
    [{ code: '1', context_id: 'a', language: 'bash' }, 'language and context_id exclude each other'],
    [{ code: '1', env: { 'a-b': '' } }, 'env names must match [A-Za-z_][A-Za-z0-9_]*'],
    [{ code: '1', timeout_seconds: 0 }, 'timeout_seconds must be >= 1'],
    [{ code: '1', timeout_seconds: 86_401 }, 'timeout_seconds must be <= 86400'],
  ])('refuses %j', (body, error) => {
    expect(refusalOf(codeBody, body)).toBe(error)
  })
})

describe('the body of a new context', () => {
  it.each([
    [{ cwd: 'tmp' }, 'cwd must be an absolute path'],
    [{ cwd: '/a\0' }, 'cwd must not contain NUL'],
    [{ cwd: `/${'a'.repeat(5000)}` }, 'cwd must be at most 4095 characters'],
    [{ language: 'r' }, 'language must be one of python, javascript, typescript, bash'],
  ])('refuses %j', (body, error) => {
    expect(refusalOf(newCodeContext, body)).toBe(error)
  })
})
