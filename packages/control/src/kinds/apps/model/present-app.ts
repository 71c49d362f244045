import type { App } from '@offshoot/contract/app'
import type { AppsContext } from './apps-context.ts'
import { openEnvironment } from './app-environment.ts'
import { type AppRow, presentApp } from './app-row.ts'

/** The public view of an app, with this service's addresses. */
export function presentAppOf({ appSecrets, config }: Pick<AppsContext, 'appSecrets' | 'config'>, row: AppRow): App {
  return presentApp(row, openEnvironment(appSecrets, row), config.preview)
}
