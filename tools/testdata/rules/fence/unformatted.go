package fence

func  Format() {} // want "gofmt: " "goimports: " "revive: exported: "
