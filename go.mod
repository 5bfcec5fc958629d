module nodrop.dev/nodrop

go 1.26.0
