// The domain .example is reserved (RFC 2606) and can never be registered, so
// nobody else can serve this module path.
module snowfence.example/snowfence

go 1.25.0
