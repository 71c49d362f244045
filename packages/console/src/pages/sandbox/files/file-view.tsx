import type { Sandbox } from '@offshoot/sdk'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { Download, File, Pencil, Save, Trash2 } from 'lucide-react'
import { lazy, Suspense, useEffect, useState } from 'react'
import { Button } from '../../../ui/button.tsx'
import { Panel } from '../../../ui/error-panel.tsx'
import { Loading, QueryView } from '../../../ui/query-view.tsx'
import { bytes } from '../../../ui/time.tsx'
import { useTell } from '../../../ui/toasts.tsx'
import { type LoadedFile, MAX_SHOWN_BYTES, versionOf } from './content.ts'
import { MoveDialog, useDelete, useDownload } from './file-actions.tsx'
import { changedAt, fileQuery } from './file-queries.ts'

const Editor = lazy(async () => ({ default: (await import('./editor.tsx')).Editor }))

interface FileViewProps {
  readonly sandbox: Sandbox
  readonly path: string
  readonly onOpen: (path: string) => void
}

const ICON = { size: 14, 'aria-hidden': true } as const

export function FileView({ sandbox, path, onOpen }: FileViewProps) {
  const query = useQuery(fileQuery(sandbox, path))
  return (
    <QueryView query={query}>
      {(file) => <Opened sandbox={sandbox} path={path} onOpen={onOpen} latest={file} />}
    </QueryView>
  )
}

/** @param latest the file as it is now; it changes while the user edits an earlier version */
function Opened({ sandbox, path, onOpen, latest }: FileViewProps & { readonly latest: LoadedFile }) {
  const [opened, setOpened] = useState(latest)
  const [draft, setDraft] = useState<string | null>(null)
  const [isMoving, setMoving] = useState(false)
  const queries = useQueryClient()
  const tell = useTell()
  const remove = useDelete(sandbox, onOpen)
  const { download, isBusy } = useDownload(sandbox)
  const saved = opened.content.is === 'text' ? opened.content.text : null
  const isDirty = draft !== null && draft !== saved
  const isOutdated = versionOf(latest.entry) !== versionOf(opened.entry)
  // Nothing of the user's is lost, so the new version is shown at once.
  if (isOutdated && !isDirty) {
    setOpened(latest)
    setDraft(null)
  }
  useBlocker({
    // oxlint-disable-next-line no-alert
    shouldBlockFn: () => isDirty && !confirm('Leave without saving?'),
    enableBeforeUnload: () => isDirty,
  })
  const save = async (mayOverwrite: boolean) => {
    if (draft === null) return
    const now = mayOverwrite ? null : await sandbox.files.stat(path)
    if (now !== null && versionOf(now) !== versionOf(opened.entry)) {
      await queries.invalidateQueries({ queryKey: fileQuery(sandbox, path).queryKey })
      throw new Error('The file has changed meanwhile. It was not saved.')
    }
    await sandbox.files.write(path, draft)
    const saved: LoadedFile = { entry: await sandbox.files.stat(path), content: { is: 'text', text: draft } }
    setOpened(saved)
    queries.setQueryData(fileQuery(sandbox, path).queryKey, saved)
    await changedAt(queries, sandbox, path)
  }
  const tellSave = (mayOverwrite = false) => void tell.whether(save(mayOverwrite), 'Saved')
  return (
    <div className="flex h-full flex-col">
      <div className="flex flex-wrap items-center gap-2 border-b p-2 pl-3">
        <h2 className="plaintext mr-auto font-mono text-sm font-semibold">
          {path}
          {isDirty && <span className="ml-2 font-sans text-xs text-warn">not saved</span>}
        </h2>
        <span className="text-xs text-muted">{bytes(latest.entry.size)}</span>
        {saved !== null && (
          <Button small look="primary" icon={<Save {...ICON} />} disabled={!isDirty} onClick={() => tellSave()}>
            Save
          </Button>
        )}
        <Button small icon={<Download {...ICON} />} busy={isBusy} onClick={() => void download(path, false)}>
          Download
        </Button>
        <Button small icon={<Pencil {...ICON} />} onClick={() => setMoving(true)}>
          Rename or move
        </Button>
        <Button small look="danger" icon={<Trash2 {...ICON} />} onClick={() => remove(path, false)}>
          Delete
        </Button>
      </div>
      {isOutdated && isDirty && (
        <p role="alert" className="flex flex-wrap items-center gap-2 bg-warn-soft px-3 py-2 text-warn">
          <span className="grow">The file has changed in the sandbox since you opened it.</span>
          <Button
            small
            onClick={() => {
              setOpened(latest)
              setDraft(null)
            }}
          >
            Load it and lose mine
          </Button>
          <Button small look="danger" onClick={() => tellSave(true)}>
            Overwrite it
          </Button>
        </p>
      )}
      <div className="min-h-0 grow overflow-auto">
        <Shown
          path={path}
          file={opened}
          onChange={setDraft}
          onSave={tellSave}
          onDownload={() => void download(path, false)}
        />
      </div>
      {isMoving && <MoveDialog sandbox={sandbox} path={path} onOpen={onOpen} onClose={() => setMoving(false)} />}
    </div>
  )
}

interface ShownProps {
  readonly path: string
  readonly file: LoadedFile
  readonly onChange: (text: string) => void
  readonly onSave: () => void
  readonly onDownload: () => void
}

function Shown({ path, file: { content, entry }, onChange, onSave, onDownload }: ShownProps) {
  switch (content.is) {
    case 'text':
      return (
        <Suspense fallback={<Loading />}>
          <Editor path={path} text={content.text} onChange={onChange} onSave={onSave} />
        </Suspense>
      )
    case 'image':
      return <Image path={path} image={content.image} />
    case 'binary':
    case 'large':
      return (
        <Panel
          icon={<File size={28} aria-hidden />}
          title={content.is === 'large' ? `Files over ${bytes(MAX_SHOWN_BYTES)} are not shown` : 'This is not text'}
        >
          {entry.type === 'file' || entry.targetType === 'file' ? (
            <Button icon={<Download {...ICON} />} onClick={onDownload}>
              Download {bytes(entry.size)}
            </Button>
          ) : (
            <p className="text-muted">It is no regular file.</p>
          )}
        </Panel>
      )
  }
}

function Image({ path, image }: { readonly path: string; readonly image: Blob }) {
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    const made = URL.createObjectURL(image)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [image])
  return url === null ? null : <img src={url} alt={path} className="m-auto max-h-full max-w-full p-4" />
}
