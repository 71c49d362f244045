import { randomBytes } from 'node:crypto'
import { z } from 'zod'

declare const brand: unique symbol
/** 24 hex digits: names one layer of a disk for ever, from before QEMU writes it until nothing needs it any more. */
export type LayerId = string & { readonly [brand]: 'LayerId' }

const LAYER_ID = /^[0-9a-f]{24}$/
const NODE = /^layer-([0-9a-f]{24})$/

export function newLayerId(): LayerId {
  return randomBytes(12).toString('hex') as LayerId
}

export function parseLayerId(text: string): LayerId | null {
  return LAYER_ID.test(text) ? (text as LayerId) : null
}

/** The same in a record. */
export const layerId = z.string().transform((text, context): LayerId => {
  const id = parseLayerId(text)
  if (id !== null) return id
  context.addIssue({ code: 'custom', message: 'no id of a layer' })
  return z.NEVER
})

/** QEMU's name of the layer's block node (at most 31 characters): whoever asks QEMU learns the layers from it. */
export function nodeOfLayer(id: LayerId): string {
  return `layer-${id}`
}

/** QEMU's name of the node of its file, where it has one. */
export function fileNodeOfLayer(id: LayerId): string {
  return `file-${id}`
}

export function layerOfNode(node: string): LayerId | null {
  const id = NODE.exec(node)?.[1]
  return id === undefined ? null : (id as LayerId)
}

/** Name of the file, in the VM's folder while it is written, in `layers/` once it is frozen. */
export function fileOfLayer(id: LayerId): string {
  return `${id}.qcow2`
}

export function layerOfFile(name: string): LayerId | null {
  return name.endsWith('.qcow2') ? parseLayerId(name.slice(0, -'.qcow2'.length)) : null
}
