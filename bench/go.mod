module snowfence.example/snowfence/bench

go 1.26.0

require (
	github.com/bwmarrin/snowflake v0.3.0
	github.com/gofrs/uuid/v5 v5.5.1
	github.com/google/uuid v1.6.0
	github.com/sony/sonyflake/v2 v2.2.0
	google.golang.org/grpc v1.85.0
	snowfence.example/snowfence v0.0.0
	snowfence.example/snowfence/api/snowfencev1 v0.0.0
)

require github.com/apache/thrift v0.25.0

require (
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	snowfence.example/snowfence => ../
	snowfence.example/snowfence/api/snowfencev1 => ../api/snowfencev1
)
