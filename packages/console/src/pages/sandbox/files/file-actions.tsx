import { NotFoundError, type Sandbox } from '@offshoot/sdk'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useConfirm } from '../../../ui/confirm.tsx'
import { FormDialog } from '../../../ui/dialog.tsx'
import { Field, Input } from '../../../ui/field.tsx'
import { useTell } from '../../../ui/toasts.tsx'
import { changedAt } from './file-queries.ts'
import { baseName, join, parentOf } from './tree.ts'

interface PathDialogProps {
  readonly sandbox: Sandbox
  /** A folder for something new, else what is moved. */
  readonly path: string
  readonly onOpen: (path: string) => void
  readonly onClose: () => void
}

/** Makes an empty file or a folder. */
export function NewDialog({ what, ...rest }: PathDialogProps & { readonly what: 'file' | 'folder' }) {
  const { sandbox, path, onOpen, onClose } = rest
  const [name, setName] = useState('')
  const queries = useQueryClient()
  const make = async () => {
    const made = join(path, name)
    if (await sandbox.files.exists(made)) throw new Error(`${made} exists already`)
    await (what === 'folder' ? sandbox.files.mkdir(made) : sandbox.files.write(made, ''))
    await changedAt(queries, sandbox, made)
    onOpen(made)
  }
  return (
    <FormDialog title={`New ${what}`} open submit="Create" onSubmit={make} onClose={onClose} canSubmit={name !== ''}>
      <Field label="Name" hint={`In ${path}. A / makes folders.`}>
        <Input value={name} onValueChange={setName} autoFocus spellCheck={false} />
      </Field>
    </FormDialog>
  )
}

/** Renames or moves a file or folder. */
export function MoveDialog({ sandbox, path, onOpen, onClose }: PathDialogProps) {
  const [to, setTo] = useState(path)
  const queries = useQueryClient()
  const move = async () => {
    await sandbox.files.move(path, to, { parents: true })
    await changedAt(queries, sandbox, path, to)
    onOpen(to)
  }
  const canSubmit = to.startsWith('/') && to !== path
  return (
    <FormDialog title="Rename or move" open submit="Move" onSubmit={move} onClose={onClose} canSubmit={canSubmit}>
      <Field label="New path" error={to.startsWith('/') ? null : 'It must begin with /.'}>
        <Input value={to} onValueChange={setTo} autoFocus spellCheck={false} />
      </Field>
    </FormDialog>
  )
}

/** Asks, and deletes a file or a folder with everything in it. */
export function useDelete(sandbox: Sandbox, onOpen: (path: string) => void) {
  const confirm = useConfirm()
  const queries = useQueryClient()
  return (path: string, isDir: boolean) =>
    confirm({
      title: `Delete ${baseName(path)}?`,
      description: isDir ? `${path} and everything in it is lost.` : `${path} is lost.`,
      action: 'Delete',
      run: async () => {
        await sandbox.files.remove(path, { recursive: isDir }).catch((error: unknown) => {
          if (!(error instanceof NotFoundError)) throw error
        })
        onOpen(parentOf(path))
        await changedAt(queries, sandbox, path)
      },
    })
}

/** Saves a file, or a folder as a tar archive, on the user's machine. */
export function useDownload(sandbox: Sandbox) {
  const tell = useTell()
  const [isBusy, setBusy] = useState(false)
  const download = async (path: string, isDir: boolean) => {
    setBusy(true)
    await tell.whether(save(sandbox, path, isDir))
    setBusy(false)
  }
  return { download, isBusy }
}

/** Browsers keep large blobs on disk. The type never lets the content run as a page of the console. */
const SAFE_TYPE = { headers: { 'content-type': 'application/octet-stream' } }

async function save(sandbox: Sandbox, path: string, isDir: boolean): Promise<void> {
  const content = await (isDir ? sandbox.files.download(path) : sandbox.files.readStream(path))
  const url = URL.createObjectURL(await new Response(content, SAFE_TYPE).blob())
  const link = document.createElement('a')
  link.href = url
  link.download = isDir ? `${path === '/' ? 'root' : baseName(path)}.tar` : baseName(path)
  link.click()
  // The browser has taken the content by the next task.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
