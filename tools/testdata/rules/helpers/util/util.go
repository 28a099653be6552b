package util // want "revive: package-naming: " "revive: package-comments: "
