import { describe, expect, it } from 'vitest'
import { parsePreviewHost, previewUrl } from './preview-address.ts'

const id = '6f0c2b8e-1111-4222-8333-444455556666'

describe('previewUrl', () => {
  it('shows a port only where the scheme has another', () => {
    expect(previewUrl({ scheme: 'http', port: 8081, suffix: 'localhost' }, id, 3000)).toBe(
      `http://3000-${id}.localhost:8081`,
    )
    expect(previewUrl({ scheme: 'https', port: 443, suffix: 'p.example.com' }, id, 1)).toBe(
      `https://1-${id}.p.example.com`,
    )
    expect(previewUrl({ scheme: 'https', port: 80, suffix: 'x' }, id, 1)).toBe(`https://1-${id}.x:80`)
  })
})

describe('parsePreviewHost', () => {
  it.each([
    `3000-${id}.localhost`,
    `3000-${id}.localhost:8081`,
    `3000-${id}.localhost:`,
    `3000-${id}.localhost.`,
    `3000-${id}.localhost.:8081`,
    `3000-${id.toUpperCase()}.LOCALHOST`,
  ])('knows %s', (host) => {
    expect(parsePreviewHost(host, 'localhost')).toEqual({ sandboxId: id, port: 3000 })
  })

  it.each([
    '',
    'localhost',
    `.localhost`,
    `${id}.localhost`,
    `-${id}.localhost`,
    `3000-${id}`,
    `3000-${id}.localhost.evil`,
    `3000-${id}.localhost..`,
    `3000-${id}.evil-localhost`,
    `3000-${id}localhost`,
    `3000-${id}..localhost`,
    `x.3000-${id}.localhost`,
    `3000-${id}.x.localhost`,
    `0-${id}.localhost`,
    `65536-${id}.localhost`,
    `03000-${id}.localhost`,
    `+3000-${id}.localhost`,
    `3e3-${id}.localhost`,
    `3000-${id}x.localhost`,
    `3000-${id.slice(1)}.localhost`,
    `3000--${id}.localhost`,
    `3000-${id}.localhost:8081:1`,
    `3000-${id}.localhost:999999`,
    `user@3000-${id}.localhost`,
    `3000-${id}.localhost/path`,
    `3000-${id}.localhost `,
    `３000-${id}.localhost`,
  ])('takes nothing else: %s', (host) => {
    expect(parsePreviewHost(host, 'localhost')).toBeNull()
  })

  it('takes the suffix as it is written, not as a pattern', () => {
    expect(parsePreviewHost(`1-${id}.p.example.com`, 'p.example.com')).toEqual({ sandboxId: id, port: 1 })
    expect(parsePreviewHost(`1-${id}.pxexample.com`, 'p.example.com')).toBeNull()
  })
})
