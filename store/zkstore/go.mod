module snowfence.example/snowfence/store/zkstore

go 1.25.0

require snowfence.example/snowfence v0.0.0

require github.com/go-zookeeper/zk v1.0.4

replace snowfence.example/snowfence => ../..
