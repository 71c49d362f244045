import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Field, Input } from '../../ui/field.tsx'
import { COPY_TIMEOUT_MS } from './volume-queries.ts'

const NAME_HINT = 'Letters, digits, ".", "_" and "-". Unique in the workspace.'
const DEFAULT_MIB = 256

/** Goes to a volume that was just made. */
function useOpen() {
  const navigate = useNavigate()
  const queries = useQueryClient()
  return async (name: string) => {
    void queries.invalidateQueries({ queryKey: ['volume', 'list'] })
    await navigate({ to: '/volumes/$name', params: { name } })
  }
}

interface CreateProps {
  /** Makes a volume with its content. Default: an empty one. */
  readonly snapshot?: { readonly id: string; readonly sizeMb: number }
  readonly onClose: () => void
}

/** Makes a volume and opens it. */
export function CreateVolumeDialog({ snapshot, onClose }: CreateProps) {
  const api = useApi()
  const open = useOpen()
  const [name, setName] = useState('')
  const [size, setSize] = useState(String(snapshot?.sizeMb ?? DEFAULT_MIB))
  const create = async () => {
    const volume = await api.volumes.create({
      name,
      sizeMb: Number(size),
      ...(snapshot && { fromSnapshot: snapshot.id }),
      timeoutMs: COPY_TIMEOUT_MS,
    })
    onClose()
    await open(volume.name)
  }
  return (
    <FormDialog
      open
      title={snapshot === undefined ? 'New volume' : 'New volume from the snapshot'}
      submit="Create"
      leaves
      onSubmit={create}
      onClose={onClose}
    >
      <Field label="Name" hint={NAME_HINT}>
        <Input value={name} onValueChange={setName} maxLength={64} spellCheck={false} autoFocus required />
      </Field>
      <Field label="Size in MiB" hint="1 to 65536. It can grow later and never shrinks.">
        <Input value={size} onValueChange={setSize} inputMode="numeric" required />
      </Field>
    </FormDialog>
  )
}

interface VolumeDialogProps {
  readonly volume: { readonly name: string; readonly sizeMb: number }
  readonly onClose: () => void
}

/** Makes a copy and opens it. */
export function CloneVolumeDialog({ volume, onClose }: VolumeDialogProps) {
  const api = useApi()
  const open = useOpen()
  const [name, setName] = useState(`${volume.name}-copy`)
  const clone = async () => {
    const copy = await (await api.volumes.get(volume.name)).clone({ name, timeoutMs: COPY_TIMEOUT_MS })
    onClose()
    await open(copy.name)
  }
  return (
    <FormDialog
      open
      title={`Clone ${volume.name}`}
      description="Another volume with the content of this instant. A sandbox that writes is stopped for the copy."
      submit="Clone"
      leaves
      onSubmit={clone}
      onClose={onClose}
    >
      <Field label="Name of the copy" hint={NAME_HINT}>
        <Input value={name} onValueChange={setName} maxLength={64} spellCheck={false} autoFocus required />
      </Field>
    </FormDialog>
  )
}

/** Makes the volume larger. */
export function ResizeVolumeDialog({ volume, onClose }: VolumeDialogProps) {
  const api = useApi()
  const queries = useQueryClient()
  const [size, setSize] = useState(String(volume.sizeMb * 2))
  const resize = async () => {
    await (await api.volumes.get(volume.name)).resize({ sizeMb: Number(size) })
    await queries.invalidateQueries({ queryKey: ['volume', 'list'] })
  }
  return (
    <FormDialog
      open
      title={`Resize ${volume.name}`}
      description="A volume grows, also while a sandbox uses it. It never shrinks."
      submit="Resize"
      onSubmit={resize}
      onClose={onClose}
    >
      <Field label="New size in MiB" hint={`More than ${volume.sizeMb}, at most 65536.`}>
        <Input value={size} onValueChange={setSize} inputMode="numeric" autoFocus required />
      </Field>
    </FormDialog>
  )
}
