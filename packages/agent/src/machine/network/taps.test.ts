import { expect, it } from 'vitest'
import { parseTraffic } from './taps.ts'

it('reads what each TAP carried, and ignores other interfaces', () => {
  const text = [
    'Inter-|   Receive                                                |  Transmit',
    ' face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed',
    '    lo: 5000      50    0    0    0     0          0         0     5000      50    0    0    0     0       0          0',
    '  ofs3:  700       7    1    1    1     1          1         1      900       9    1    1    1     1       1          1',
    'ofs300:123456789012 7    0    0    0     0          0         0        0       0    0    0    0     0       0          0',
    '',
  ].join('\n')
  expect([...parseTraffic(text)]).toEqual([
    [3, { inBytes: 900, outBytes: 700, packets: 16 }],
    [300, { inBytes: 0, outBytes: 123_456_789_012, packets: 7 }],
  ])
})
