import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { interfacesOf } from './uplinks.ts'

it.each([
  ['', []],
  ['[]', []],
  ['[{"dst":"default","gateway":"192.0.2.1","dev":"eth0"},{"dst":"10.0.0.0/8","dev":"wlan0"}]', ['eth0', 'wlan0']],
  [
    '[{"dst":"10.213.0.4/30","dev":"if90089"},{"dst":"10.213.0.8/30","dev":"br-lan"},{"dst":"10.214.0.0/16"}]',
    ['br-lan'],
  ],
])('lists the interfaces of routes, without interfaces that just disappeared: %s', (answer, interfaces) => {
  expect(interfacesOf(answer)).toEqual(interfaces)
})

const addressOf = (at: number) => `10.213.${(at * 4) >> 8}.${(at * 4 + 1) & 255}/30`
/** More than a host has slots. */
const TAPS = 4500

/** For this many, ip(8) prints more than 1 MiB. */
it.runIf(process.geteuid?.() === 0)(
  'reads uplinks and routes of a host with thousands of TAPs',
  { tags: ['long'] },
  async () => {
    const taps = Array.from({ length: TAPS }, (_, at) => [
      `tuntap add dev ofs${at} mode tap`,
      `address add ${addressOf(at)} dev ofs${at}`,
      `link set dev ofs${at} up`,
    ])
    const uplink = ['tuntap add dev uplink mode tap', 'link set dev uplink mtu 1400 up', 'route add default dev uplink']
    const module = JSON.stringify(join(import.meta.dirname, 'uplinks.ts'))
    const code = `
    import { findUplinks, routesInto, smallestMtu } from ${module}
    const uplinks = await findUplinks([])
    const mtu = await smallestMtu([...uplinks, 'gone'])
    const routes = (await routesInto('10.213.0.0/16')).length
    console.log(JSON.stringify({ uplinks, mtu, routes }))
  `
    // The network namespace ends with its only process, and all TAPs with it.
    const line = [
      '--net',
      'sh',
      '-c',
      'ip -batch - && exec "$@"',
      'sh',
      process.execPath,
      '--input-type=module',
      '-e',
      code,
    ]
    const child = spawn('unshare', line, { stdio: ['pipe', 'pipe', 'inherit'] })
    child.stdin.end([...uplink, ...taps.flat()].join('\n'))
    const answer = text(child.stdout)
    expect((await once(child, 'exit'))[0]).toBe(0)
    expect(JSON.parse(await answer)).toEqual({ uplinks: ['uplink'], mtu: 1400, routes: TAPS })
  },
)
