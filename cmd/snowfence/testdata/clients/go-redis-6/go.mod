module snowfence.example/clients/go-redis-6

go 1.25.0

require github.com/go-redis/redis v6.15.9+incompatible
