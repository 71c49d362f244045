import { describe, expect, it } from 'vitest'
import { labelLines, labelsIn } from './host-labels.ts'

describe('the labels of a host as lines', () => {
  it('are read as they are written', () => {
    const labels = { disk: 'nvme', 'example.com/line': 'B-2' }
    expect(labelLines(labels)).toEqual(['disk=nvme', 'example.com/line=B-2'])
    expect(labelsIn(labelLines(labels).join('\n'))).toEqual(labels)
  })

  it('may have spaces around them, and empty lines between them', () => {
    expect(labelsIn('\n disk = nvme \r\n\n')).toEqual({ disk: 'nvme' })
    expect(labelsIn(' ')).toEqual({})
  })

  it.each(['disk', '=nvme', 'disk=', 'disk=a b', 'a=1\na=2'])('are none in %j', (text) => {
    expect(labelsIn(text)).toBeNull()
  })
})
