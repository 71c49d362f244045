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
])('reads the interfaces of routes, without those that are just gone: %s', (answer, interfaces) => {
  expect(interfacesOf(answer)).toEqual(interfaces)
})
