import { describe, expect, it } from 'vitest'
import { type PortChange, AnnouncedPorts } from './announced-ports.ts'

const LOOK_MS = 1000
const HOUR_LOOKS = 3600
const range = (from: number, count: number) => new Set(Array.from({ length: count }, (_, at) => from + at))

/** Polls as `ListenerWatch` does. `portsAt` returns the open ports at each poll. */
function look(
  announced: AnnouncedPorts,
  looks: number,
  portsAt: (look: number) => ReadonlySet<number>,
  fromMs = 0,
): PortChange[] {
  const all: PortChange[] = []
  for (let at = 0; at < looks; at++) {
    for (const change of announced.changes(portsAt(at), fromMs + at * LOOK_MS)) {
      announced.markAnnounced(change)
      all.push(change)
    }
  }
  return all
}

describe('AnnouncedPorts', () => {
  it('announces at once that a server has opened many ports', () => {
    const announced = new AnnouncedPorts(new Set(), 0)
    expect(look(announced, 1, () => range(8000, 30))).toHaveLength(30)
  })

  it('rate-limits a guest that opens and closes ports all the time', () => {
    const announced = new AnnouncedPorts(new Set(), 0)
    const changes = look(announced, HOUR_LOOKS, (at) => (at % 2 === 0 ? range(1024, 1000) : new Set<number>()))
    expect(changes.length).toBeLessThanOrEqual(32 + HOUR_LOOKS / 5)
  })

  it('finally announces all ports that stay open, each once', () => {
    const announced = new AnnouncedPorts(new Set([1, 2]), 0)
    const ports = range(100, 200)
    const changes = look(announced, HOUR_LOOKS, () => ports)
    expect(changes.filter(({ isOpen }) => !isOpen).map(({ port }) => port)).toEqual([1, 2])
    expect(changes.filter(({ isOpen }) => isOpen).map(({ port }) => port)).toEqual([...ports])
  })

  it('drops a change that was undone before it was announced', () => {
    const announced = new AnnouncedPorts(new Set(), 0)
    look(announced, 1, () => range(1, 32))
    expect(announced.changes(range(1, 33), LOOK_MS)).toEqual([])
    expect(announced.changes(range(1, 32), 60_000)).toEqual([])
  })

  it('accumulates no more tokens than one burst', () => {
    const announced = new AnnouncedPorts(new Set(), 0)
    expect(announced.changes(range(1, 1000), 86_400_000)).toHaveLength(32)
  })
})
