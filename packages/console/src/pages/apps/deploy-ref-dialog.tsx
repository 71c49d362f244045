import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../session/session.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { Field, Input } from '../../ui/field.tsx'

interface DeployRefDialogProps {
  readonly app: { readonly id: string; readonly gitBranch: string }
  readonly onClose: () => void
}

/** Deploys something else than the branch of the app. */
export function DeployRefDialog({ app: { id, gitBranch }, onClose }: DeployRefDialogProps) {
  const api = useApi()
  const navigate = useNavigate()
  const [gitRef, setGitRef] = useState(gitBranch)
  const deploy = async () => {
    const { id: deployment } = await (await api.apps.get(id)).deploy({ gitRef })
    onClose()
    await navigate({ to: '/apps/$id/deployments/$deployment', params: { id, deployment } })
  }
  return (
    <FormDialog open title="Deploy" submit="Deploy" leaves onSubmit={deploy} onClose={onClose}>
      <Field label="Branch, tag or commit">
        <Input value={gitRef} onValueChange={setGitRef} spellCheck={false} autoFocus required />
      </Field>
    </FormDialog>
  )
}
