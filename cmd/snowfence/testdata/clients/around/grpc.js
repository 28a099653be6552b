import { credentials, loadPackageDefinition } from "@grpc/grpc-js"
import { loadSync } from "@grpc/proto-loader"

SNIPPET
