import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Upload } from 'lucide-react'
import { type DragEvent, useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { classes } from '../../ui/classes.ts'
import { FormDialog } from '../../ui/dialog.tsx'
import { Check, Field, Input } from '../../ui/field.tsx'
import { bytes } from '../../ui/time.tsx'
import { templateNameOf } from './template-name.ts'

/** Builds a template from an archive and shows the build. */
export function BuildDialog({ onClose, name: given = '' }: { readonly onClose: () => void; readonly name?: string }) {
  const api = useApi()
  const queries = useQueryClient()
  const navigate = useNavigate()
  const [file, setFile] = useState<File | null>(null)
  const [name, setName] = useState(given)
  const [size, setSize] = useState('1024')
  const [memory, setMemory] = useState('512')
  const [cpu, setCpu] = useState('1')
  const [startCmd, setStartCmd] = useState('')
  const [readyCmd, setReadyCmd] = useState('')
  const [replaces, setReplaces] = useState(given !== '')
  const choose = (chosen: File) => {
    setFile(chosen)
    if (name === '') setName(templateNameOf(chosen.name))
  }
  const build = async () => {
    if (file === null) throw new Error('Choose an archive first.')
    const begun = await api.templates.build(file, {
      name,
      sizeMb: Number(size),
      memoryMb: Number(memory),
      cpu: Number(cpu),
      ...(startCmd !== '' && { startCmd }),
      ...(readyCmd !== '' && { readyCmd }),
      ...(replaces && { replace: true }),
      // The upload takes as long as the network needs.
      timeoutMs: 0,
    })
    void queries.invalidateQueries({ queryKey: ['build', 'list'] })
    await navigate({ to: '/builds/$id', params: { id: begun.id } })
  }
  return (
    <FormDialog
      open
      title="Build a template"
      description="From a root file system as a tar archive, from docker save, or from an OCI layout. Perhaps compressed."
      submit="Upload and build"
      leaves
      canSubmit={file !== null && name !== ''}
      onSubmit={build}
      onClose={onClose}
    >
      <DropZone file={file} onChoose={choose} />
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label="Name" hint='Letters, digits, ".", "_" and "-".'>
          <Input value={name} onValueChange={setName} maxLength={64} spellCheck={false} required />
        </Field>
        <Field label="Disk in MiB" hint="16 to 16384.">
          <Input value={size} onValueChange={setSize} inputMode="numeric" required />
        </Field>
        <Field label="Memory in MiB" hint="128 to 65536.">
          <Input value={memory} onValueChange={setMemory} inputMode="numeric" required />
        </Field>
        <Field label="vCPUs" hint="1 to 16.">
          <Input value={cpu} onValueChange={setCpu} inputMode="numeric" required />
        </Field>
      </div>
      <Field label="Start command" hint="Its processes run in every sandbox. Default: the command of the image.">
        <Input value={startCmd} onValueChange={setStartCmd} className="font-mono" spellCheck={false} />
      </Field>
      <Field label="Ready command" hint="Repeated until it exits with 0. Then the template is frozen.">
        <Input value={readyCmd} onValueChange={setReadyCmd} className="font-mono" spellCheck={false} />
      </Field>
      <Check label="Replace my template of that name" checked={replaces} toggle={() => setReplaces(!replaces)} />
    </FormDialog>
  )
}

interface DropZoneProps {
  readonly file: File | null
  readonly onChoose: (file: File) => void
}

function DropZone({ file, onChoose }: DropZoneProps) {
  const [isOver, setOver] = useState(false)
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    const [dropped] = event.dataTransfer.files
    if (dropped !== undefined) onChoose(dropped)
  }
  return (
    // Dropping is beside the input, which works by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <label
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={classes(
        'flex cursor-pointer flex-col items-center gap-1 rounded-lg border-2 border-dashed p-5 text-center focus-within:outline-2 focus-within:outline-accent',
        isOver ? 'border-accent bg-accent-soft' : 'border-line-strong/50',
      )}
    >
      <Upload size={20} className="text-muted" aria-hidden />
      {file === null ? (
        <span>Drop an archive here, or choose one</span>
      ) : (
        <span className="plaintext">
          {file.name} <span className="text-muted">({bytes(file.size)})</span>
        </span>
      )}
      <input
        type="file"
        aria-label="Archive"
        className="sr-only"
        onChange={({ currentTarget: { files } }) => {
          const [chosen] = files ?? []
          if (chosen !== undefined) onChoose(chosen)
        }}
      />
    </label>
  )
}
