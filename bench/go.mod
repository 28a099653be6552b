module snowfence.example/snowfence/bench

go 1.26.0

require (
	github.com/apache/thrift v0.25.0
	github.com/bwmarrin/snowflake v0.3.0
	github.com/chromedp/chromedp v0.23.0
	github.com/gofrs/uuid/v5 v5.5.1
	github.com/google/uuid v1.6.0
	github.com/sony/sonyflake/v2 v2.2.0
	google.golang.org/grpc v1.85.0
	snowfence.example/snowfence v0.0.0
	snowfence.example/snowfence/api/snowfencev1 v0.0.0
	snowfence.example/snowfence/store/etcdstore v0.0.0
)

require (
	github.com/chromedp/cdproto v0.159.0 // indirect
	github.com/coreos/go-semver v0.3.1 // indirect
	github.com/coreos/go-systemd/v22 v22.7.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/golang/protobuf v1.5.4 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.29.0 // indirect
	go.etcd.io/etcd/api/v3 v3.7.3 // indirect
	go.etcd.io/etcd/client/pkg/v3 v3.7.3 // indirect
	go.etcd.io/etcd/client/v3 v3.7.3 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.uber.org/zap v1.28.0 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

replace (
	snowfence.example/snowfence => ../
	snowfence.example/snowfence/api/snowfencev1 => ../api/snowfencev1
	snowfence.example/snowfence/store/etcdstore => ../store/etcdstore
)
