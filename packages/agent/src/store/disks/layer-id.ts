import { randomBytes } from 'node:crypto'
import { z } from 'zod'

declare const brand: unique symbol
/** 24 hex digits. Identifies one layer of a disk, from before QEMU writes to it until it is deleted. */
export type LayerId = string & { readonly [brand]: 'LayerId' }

const LAYER_ID = /^[0-9a-f]{24}$/
const NODE = /^layer-([0-9a-f]{24})$/

export function newLayerId(): LayerId {
  return randomBytes(12).toString('hex') as LayerId
}

export function parseLayerId(text: string): LayerId | null {
  return LAYER_ID.test(text) ? (text as LayerId) : null
}

/** The schema of a layer id in a record. */
export const layerId = z.string().transform((text, context): LayerId => {
  const id = parseLayerId(text)
  if (id !== null) return id
  context.addIssue({ code: 'custom', message: 'no id of a layer' })
  return z.NEVER
})

/** The layer's node name in QEMU (at most 31 characters). The agent reads it back from QEMU to identify the layer. */
export function nodeOfLayer(id: LayerId): string {
  return `layer-${id}`
}

/** The node name of the layer's file in QEMU, if that has a node. */
export function fileNodeOfLayer(id: LayerId): string {
  return `file-${id}`
}

export function layerOfNode(node: string): LayerId | null {
  const id = NODE.exec(node)?.[1]
  return id === undefined ? null : (id as LayerId)
}

/** Name of the layer's file: in the VM's folder while QEMU writes to it, in `layers/` once it is frozen. */
export function fileOfLayer(id: LayerId): string {
  return `${id}.qcow2`
}

export function layerOfFile(name: string): LayerId | null {
  return name.endsWith('.qcow2') ? parseLayerId(name.slice(0, -'.qcow2'.length)) : null
}
