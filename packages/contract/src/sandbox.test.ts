import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSandboxBody } from './sandbox.ts'

const refusal = (body: unknown) => createSandboxBody.safeParse(body).error?.issues[0]?.message

describe('createSandboxBody', () => {
  it('takes the least and drops what it does not know', () => {
    expect(createSandboxBody.parse({ template: 'base', later: 1 })).toEqual({ template: 'base' })
  })

  it('needs a template or a snapshot', () => {
    expect(refusal({})).toBe('template required')
    expect(refusal({ template: null, from_snapshot: null })).toBe('template required')
    expect(refusal({ template: '', from_snapshot: 'id' })).toBe('template required')
    expect(refusal({ from_snapshot: 'id' })).toBeUndefined()
  })

  it('reads null as absent', () => {
    const { persistent, ttl_seconds, metadata } = createSandboxBody.parse({
      template: 'base',
      persistent: null,
      ttl_seconds: null,
      metadata: null,
    })
    expect([persistent, ttl_seconds, metadata]).toEqual([undefined, undefined, undefined])
  })

  it.each([
    [{ [`${'k'.repeat(255)}\u{1f642}`]: '\u{1f642}'.repeat(4096) }, undefined],
    [{ ['k'.repeat(257)]: '' }, 'metadata keys must be at most 256 characters'],
    [{ [`${'k'.repeat(256)}\u{1f642}`]: '' }, 'metadata keys must be at most 256 characters'],
    [{ k: '\u{1f642}'.repeat(4097) }, 'metadata values must be at most 4096 characters'],
    [{ k: 'v'.repeat(9000) }, 'metadata values must be at most 4096 characters'],
  ])('counts characters, whatever they are stored as: %#', (metadata, message) => {
    expect(refusal({ template: 'base', metadata })).toBe(message)
  })

  it.each([
    [{}, 'template required'],
    [{ template: 'x'.repeat(65) }, 'template must be at most 64 characters'],
    [{ template: 'base', idle_timeout_seconds: 59 }, 'idle_timeout_seconds must be >= 60'],
    [{ template: 'base', env: { 'A-B': '' } }, 'env names must match [A-Za-z_][A-Za-z0-9_]*'],
    [{ template: 'base', env: { A: '\0' } }, 'env values must not contain NUL'],
    [{ template: 'base', volumes: [null] }, 'volumes must be an array of objects'],
  ])('refuses %j', (body, message) => {
    expect(refusal(body)).toBe(message)
  })

  it('names the field in every refusal, whatever a field holds', () => {
    const fields = [
      'template',
      'ttl_seconds',
      'metadata',
      'persistent',
      'idle_timeout_seconds',
      'volumes',
      'env',
      'cpu',
    ] as const
    fc.assert(
      fc.property(fc.constantFrom(...fields), fc.jsonValue(), (field, value) => {
        const message = refusal({ template: 'base', [field]: value })
        expect(message === undefined || message.startsWith(field)).toBe(true)
      }),
    )
  })
})
