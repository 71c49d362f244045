import { bakeImage } from './run-build.ts'
import { BuildLog } from '../../store/builds/build-log.ts'
import type { Host } from '../model/host.ts'
import { Bakes } from '../../machine/bakes/bakes.ts'
import type { Images } from '../../store/bakes/images.ts'

/** At the agent's start: finds the usable bakes of built templates. @returns the folders of all their bakes, existing or not */
export async function findBakes(host: Host, images: Images): Promise<string[]> {
  const bakes = new Bakes({
    folder: host.store.dir.bakes,
    images,
    qemu: host.platform.qemus.current,
    slot: () => Promise.reject(new Error('nothing is baked here')),
    machineOf: host.platform.machines.of,
  })
  const places: string[] = []
  for (const record of host.store.templates.all.filter(({ memory }) => memory === null)) {
    const { baked, fingerprint } = await bakes.find(record.image)
    if (baked !== null) host.store.templates.setBaked(record, baked)
    places.push(`${record.id}/${fingerprint}`)
  }
  return places
}

/** Bakes templates with a stale bake again, one after the other. Until then the agent refuses to create sandboxes from them. */
export async function rebakeStale(host: Host, images: Images, stopping: AbortSignal): Promise<void> {
  const stale = host.store.templates.all.filter(
    (each) => each.memory === null && host.store.templates.bakedOf(each) === null,
  )
  for (const record of stale) {
    if (stopping.aborted) return
    const log = BuildLog.inMemory(host.log)
    const place = { host, images, log }
    await bakeImage(place, record.image, await host.store.templates.disk(record.id), stopping).then(
      (baked) => host.store.templates.setBaked(record, baked),
      (error: unknown) => {
        if (!stopping.aborted) host.log.error({ err: error, template: record.id }, 'template cannot be baked again')
      },
    )
  }
}
