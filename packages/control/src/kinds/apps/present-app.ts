import type { App } from '@offshoot/contract/app'
import type { Control } from '../../control.ts'
import { openEnvironment } from './app-environment.ts'
import { type AppRow, presentApp } from './app-row.ts'

/** As callers see it, at this service's addresses. */
export function presentAppOf({ appSecrets, config }: Pick<Control, 'appSecrets' | 'config'>, row: AppRow): App {
  return presentApp(row, openEnvironment(appSecrets, row), config.preview)
}
