import { appRoutes } from './apps/routes.ts'
import { databaseRoutes } from './databases/routes.ts'
import { templateRoutes } from './templates/routes.ts'
import { volumeRoutes } from './volumes/routes.ts'

/** Templates, databases, apps and volumes. */
export const resourceRoutes = [...templateRoutes, ...databaseRoutes, ...appRoutes, ...volumeRoutes] as const
