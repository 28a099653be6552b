module snowfence.example/snowfence/bench

go 1.25.0

require (
	github.com/bwmarrin/snowflake v0.3.0
	github.com/gofrs/uuid/v5 v5.5.1
	github.com/google/uuid v1.6.0
	github.com/sony/sonyflake/v2 v2.2.0
	snowfence.example/snowfence v0.0.0
)

require github.com/apache/thrift v0.24.0

replace snowfence.example/snowfence => ../
